import { RematError } from "@remat/trace";
import { lossByName, type ModelContext, type ModelDefinition } from "@remat/tracer/step";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { LayersModel, SymbolicTensor } from "@tensorflow/tfjs-layers";

/**
 * Gives a layers model the loss that its outputs suggest, since a Keras file carries none: categorical cross-entropy where an output is a
 * softmax, else mean squared error; summed over outputs. Targets are random where there are none: classes, or numbers in [0, 1).
 */
export function withDefaultLoss(definition: ModelDefinition, context: ModelContext): ModelDefinition {
  const { model, targets } = definition as ModelDefinition & { model: LayersModel };
  const softmax = model.outputs.map(isSoftmax);
  const losses = softmax.map((is) => lossByName(is ? "categoricalCrossentropy" : "meanSquaredError"));
  const { tf } = context;
  return {
    ...definition,
    targets: targets ?? model.outputs.map((output, i) => randomTarget(model, output, softmax[i], definition, context)),
    loss: ((outputs: Tensor | Tensor[], wanted: Tensor | Tensor[]) => {
      const targetList = [wanted].flat();
      const terms = [outputs].flat().map((output, i) => losses[i]([output], [targetList[i]]));
      return terms.slice(1).reduce((total, term) => tf.add(total, term), terms[0]);
    }) as NonNullable<ModelDefinition["loss"]>,
    notes: [
      ...[definition.notes ?? []].flat(),
      `the file carries no loss: ${describe(softmax)}${targets === undefined ? ", and random targets" : ""}`,
    ],
  };
}

function describe(softmax: readonly boolean[]): string {
  if (softmax.every(Boolean)) return "categorical cross-entropy is taken, since the output is a softmax";
  if (!softmax.some(Boolean)) return "mean squared error is taken, since the output is no softmax";
  return "categorical cross-entropy is taken of the outputs that are a softmax, mean squared error of the others";
}

function isSoftmax({ sourceLayer }: SymbolicTensor): boolean {
  if (sourceLayer.getClassName() === "Softmax") return true;
  const { activation } = sourceLayer.getConfig() as { activation?: unknown };
  return activation === "softmax";
}

function randomTarget(
  model: LayersModel,
  { shape }: SymbolicTensor,
  isClass: boolean,
  { inputs }: ModelDefinition,
  { tf }: ModelContext,
): Tensor {
  const [batch] = ([inputs].flat() as Tensor[])[0].shape;
  const known = shape.map((size, axis) => (axis === 0 ? batch : size));
  if (known.includes(null))
    throw new RematError(
      "MODEL_OUTPUT_SHAPE",
      `model ${model.name}: an output has the shape [${shape.map((size) => size ?? "any").join(", ")}]: expected all sizes but the batch to be known. Give --data with targets, or --loss sum.`,
    );
  const sizes = known as number[];
  if (!isClass) return tf.randomUniform(sizes);
  const classes = sizes[sizes.length - 1];
  return tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt(sizes.slice(0, -1), 0, classes), classes), "float32"));
}
