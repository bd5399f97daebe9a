import * as tf from "@tensorflow/tfjs-core";
import type { LayersModel, SymbolicTensor } from "@tensorflow/tfjs-layers";
import { describeLoss, lossByName, lossNeedsTargets } from "./losses.js";
import { type ModelDefinition, outputsOf } from "./model-definition.js";
import { randomTarget } from "./random-target.js";

/** Properties of an output that the choice of a loss depends on. */
interface OutputKind {
  readonly shape: readonly number[];
  readonly isSoftmax: boolean;
}

/**
 * Returns the definition with a loss and targets. The loss is the definition's own, otherwise `wanted`, otherwise the
 * sum over outputs of categorical cross-entropy for a softmax layer and mean squared error for others. Missing targets
 * are random: classes for a cross-entropy, otherwise numbers in [0, 1). The notes list these assumptions.
 */
export function withLoss(definition: ModelDefinition, wanted: string | undefined): ModelDefinition {
  if (definition.loss !== undefined)
    return wanted === undefined
      ? definition
      : noting(definition, `the model has its own loss, so ${describeLoss(wanted)} is ignored`);
  if (wanted !== undefined && !lossNeedsTargets(wanted))
    return noting(
      { ...definition, loss: (outputs: Tensors) => lossByName(wanted)([outputs].flat(), []) },
      named(wanted),
    );
  const outputs = outputKinds(definition);
  const names = outputs.map(({ isSoftmax }) => wanted ?? (isSoftmax ? "categoricalCrossentropy" : "meanSquaredError"));
  const losses = names.map(lossByName);
  const { targets } = definition;
  const loss = (found: Tensors, expected: Tensors) => {
    const targetList = [expected].flat();
    const terms = [found].flat().map((output, i) => losses[i]([output], [targetList[i]]));
    return terms.slice(1).reduce((total, term) => tf.add(total, term), terms[0]);
  };
  const assumed = wanted === undefined ? suggested(outputs) : named(wanted);
  return noting(
    { ...definition, loss, targets: targets ?? outputs.map(({ shape }, i) => randomTarget(shape, names[i])) },
    `${assumed}${targets === undefined ? ", and random targets" : ""}`,
  );
}

type Tensors = tf.Tensor | tf.Tensor[];

function noting(definition: ModelDefinition, note: string): ModelDefinition {
  return { ...definition, notes: [...[definition.notes ?? []].flat(), note] };
}

const named = (loss: string): string => `no loss in the model: using ${describeLoss(loss)}, as requested`;

function suggested(outputs: readonly OutputKind[]): string {
  const softmax = outputs.map(({ isSoftmax }) => isSoftmax);
  const assumed = softmax.every(Boolean)
    ? "categorical cross-entropy, because the output is a softmax"
    : softmax.some(Boolean)
      ? "categorical cross-entropy for softmax outputs and mean squared error for the others"
      : "mean squared error, because the output is not a softmax";
  return `no loss in the model: using ${assumed}`;
}

function outputKinds(definition: ModelDefinition): readonly OutputKind[] {
  const softmax = definition.model?.outputs.map(isSoftmax) ?? [];
  const shapes = knownShapes(definition) ?? shapesOfRun(definition);
  return shapes.map((shape, i) => ({ shape, isSoftmax: softmax[i] ?? false }));
}

/** Output shapes of a layers model, if all sizes except for the batch are known. */
function knownShapes({ model, inputs }: ModelDefinition): readonly (readonly number[])[] | undefined {
  if (model === undefined) return undefined;
  const [batch] = ([inputs].flat() as tf.Tensor[])[0].shape;
  const shapes = model.outputs.map(({ shape }) => shape.map((size, axis) => (axis === 0 ? batch : size)));
  return shapes.some((shape) => shape.includes(null)) ? undefined : (shapes as number[][]);
}

/** Other models must run once to learn the shapes. The run is in inference mode, so that statistics do not change. */
function shapesOfRun(definition: ModelDefinition): readonly (readonly number[])[] {
  let shapes: readonly (readonly number[])[] = [];
  tf.tidy(() => {
    shapes = [outputsOf(definition, { training: false })].flat().map(({ shape }) => shape);
  });
  return shapes;
}

function isSoftmax({ sourceLayer, outputTensorIndex }: SymbolicTensor): boolean {
  const inner = (sourceLayer as Partial<LayersModel>).outputs;
  if (inner !== undefined) return isSoftmax(inner[outputTensorIndex ?? 0]);
  if (sourceLayer.getClassName() === "Softmax") return true;
  const { activation, layer } = sourceLayer.getConfig() as {
    activation?: unknown;
    /** The layer inside a wrapper such as TimeDistributed. */
    layer?: { readonly config?: { readonly activation?: unknown } };
  };
  return activation === "softmax" || layer?.config?.activation === "softmax";
}
