import { cast, div, mean, mul, type Optimizer, sum, type Tensor } from "@tensorflow/tfjs-core";
import { type LayersModel, Sequential } from "@tensorflow/tfjs-layers";
import { isObject, ownField } from "../json.js";
import { maskOf } from "../layers/masks.js";
import { losses, lossNamed } from "./losses.js";
import { optimizerOf } from "./optimizers.js";
import type { Compilation } from "./read-compilation.js";

/** Computes the loss of one output, a scalar. */
type OutputLoss = (target: Tensor, output: Tensor) => Tensor;

/**
 * Compiles a model as its file specifies, with the losses of this package and an optimizer of TensorFlow.js. The model
 * stays uncompiled if the loss or optimizer is not available. Returns sentences for the user about the compilation and
 * its differences.
 */
export function compileModel(model: LayersModel, compilation: Compilation): readonly string[] {
  const { optimizer, loss, lossWeights } = compilation;
  // A Sequential gets its output names when it is built, which otherwise happens when it is compiled.
  if (model instanceof Sequential) model.build();
  const asWritten = compileAsTfjs(model, compilation);
  if (asWritten !== undefined) return asWritten;
  const names = model.outputNames;
  const written = byOutput(loss, names);
  const weights = byOutput(lossWeights, names);
  const made = names.map((_, i) => lossOf(written[i], typeof weights[i] === "number" ? weights[i] : 1));
  const missing = made.findIndex((each) => each === undefined);
  if (missing >= 0) {
    const what = written[missing] == null ? "is not in the file" : `(${nameOf(written[missing])}) is not supported`;
    return [`the loss of the output '${names[missing]}' ${what}, so the model is not compiled`];
  }
  const found = optimizerOf(optimizer);
  if (found === undefined)
    return [`the optimizer ${nameOf(optimizer)} of the file is not supported, so the model is not compiled`];
  const compile = (losses: unknown): Compiled => {
    model.compile({ optimizer: found.optimizer, loss: losses as never });
    // A Sequential is compiled through the functional model inside it.
    return ((model as unknown as { readonly model?: object }).model ?? model) as Compiled;
  };
  const [stockSparse] = compile(sparse).feedLossFns;
  const plain = made.map((each, i) => {
    const isPlain = each !== undefined && isByNameAlone(written[i]) && (weights[i] ?? 1) === 1 && !hasMask(model);
    return isPlain && sameAsTfjs.has(each.name) ? each.name : undefined;
  });
  const compiled = compile(made.map((each, i) => plain[i] ?? each));
  // Only this function shows tfjs-layers that targets are class indices.
  compiled.feedLossFns = compiled.feedLossFns.map((own, i) =>
    plain[i] === undefined && made[i]?.name === sparse ? stockSparse : own,
  );
  own(model);
  return [
    describeCompiled(
      made.map((each) => each?.name),
      found.optimizer,
    ),
    ...found.notes,
  ];
}

/**
 * Compiles a model that tfjs-layers saved, in the same way as `loadLayersModel`. Its step then matches the step of a
 * program that loads it, kernel by kernel.
 */
function compileAsTfjs(model: LayersModel, { ofTfjs }: Compilation): readonly string[] | undefined {
  if (ofTfjs === undefined) return undefined;
  try {
    model.loadTrainingConfig(ofTfjs as never);
  } catch {
    return undefined;
  }
  own(model);
  const { optimizer_, loss } = model as unknown as { readonly optimizer_: Optimizer; readonly loss: unknown };
  const named = isObject(loss) ? Object.values(loss) : [loss].flat();
  return [describeCompiled(named.map(String), optimizer_)];
}

function describeCompiled(losses: readonly (string | undefined)[], optimizer: Optimizer): string {
  // Restores the number as it was typed, before it became a 32-bit float.
  const rate = Number((optimizer.getConfig()["learningRate"] as number).toPrecision(6));
  return `the file is compiled with ${[...new Set(losses)].join(", ")} and ${optimizer.getClassName()} at ${rate}`;
}

/**
 * Losses that tfjs-layers computes like Keras, with one value per sample, but with other kernels than this package. If
 * the step uses them, a program that compiles with them can follow a plan of the step. One difference from Keras remains:
 * the gradient of `meanAbsoluteError` for an error of exactly 0.
 */
const sameAsTfjs: ReadonlySet<string> = new Set([
  "meanSquaredError",
  "meanAbsoluteError",
  "categoricalCrossentropy",
  "sparseCategoricalCrossentropy",
  "binaryCrossentropy",
]);

/** Returns whether a loss has no options that would change it. */
function isByNameAlone(written: unknown): boolean {
  if (!isObject(written) || !isObject(written["config"])) return true;
  const { from_logits, label_smoothing, reduction } = written["config"];
  const isSmoothed = typeof label_smoothing === "number" && label_smoothing !== 0;
  return from_logits !== true && !isSmoothed && reduction !== "sum" && reduction !== "none";
}

/** Returns whether a mask may exclude samples or places, because of a layer of the model or of a nested model. */
function hasMask({ layers }: Pick<LayersModel, "layers">): boolean {
  return layers.some((layer) => {
    const { layers: inner } = layer as Partial<LayersModel>;
    if (inner !== undefined) return hasMask({ layers: inner });
    const { mask_zero, maskZero } = layer.getConfig();
    return layer.getClassName() === "Masking" || mask_zero === true || maskZero === true;
  });
}

/** Name in tfjs-layers of the loss whose targets are class indices. */
const sparse = "sparseCategoricalCrossentropy";

/** Functions by which tfjs-layers checks targets. */
interface Compiled {
  feedLossFns: unknown[];
}

/** The optimizer belongs to the model, like one that tfjs-layers makes from a name. */
function own(model: LayersModel): void {
  for (const each of [model, (model as unknown as { readonly model?: object }).model])
    if (each !== undefined && each !== null) Object.assign(each, { isOptimizerOwned: true });
}

/** Returns the setting of each output, given one for all, a list, or a record by name. */
function byOutput(value: unknown, names: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.length === names.length ? value : names.map(() => undefined);
  if (!isObject(value) || typeof value["class_name"] === "string") return names.map(() => value);
  const values = Object.values(value);
  // If a model returns a record, Keras 3 names its outputs by the keys of the record, in order.
  const isByName = names.some((name) => Object.hasOwn(value, name));
  return names.map((name, i) => (isByName ? value[name] : values.length === names.length ? values[i] : undefined));
}

const nameOf = (written: unknown): string =>
  isObject(written) ? String(written["class_name"] ?? "that it has") : String(written);

function lossOf(written: unknown, weight: number): OutputLoss | undefined {
  // Keras 3 writes a function as an object with its name.
  const isFunction = isObject(written) && written["class_name"] === "function";
  const options = isObject(written) && isObject(written["config"]) ? written["config"] : {};
  const name = lossNamed(isFunction ? String(written["config"]) : nameOf(written));
  const ofSamples = ownField(losses, name);
  if (ofSamples === undefined || options["ignore_class"] != null) return undefined;
  const isSum = options["reduction"] === "sum";
  const loss: OutputLoss = (target, output) => {
    const each = ofSamples(target, output, options);
    const one = reduce(each, maskOf(output), isSum);
    return weight === 1 ? one : mul(one, weight);
  };
  // The name shows which targets it takes.
  return Object.defineProperty(loss, "name", {
    value: name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  });
}

/** Reduces the values of all samples and places to one number. The mask excludes some of them. */
function reduce(each: Tensor, mask: Tensor | undefined, isSum: boolean): Tensor {
  if (mask === undefined || mask.rank !== each.rank) return isSum ? sum(each) : mean(each);
  const counted = cast(mask, "float32");
  const total = sum(mul(each, counted));
  return isSum ? total : div(total, sum(counted));
}
