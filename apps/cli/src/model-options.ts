import { resolve } from "node:path";
import { fakeableBackends } from "@remat/dispatch-hook/backends";
import {
  checkpointings,
  groupingNames,
  lossNames,
  modelSizes,
  noOptimizer,
  optimizerNames,
  resolveStep,
  type StepRequest,
} from "@remat/tracer/step";
import { grouped, type OptionValues, option } from "./command.js";
import { formatOption, unitsOption } from "./format-option.js";
import { parseCount, parseText } from "./usage-error.js";

/** Far above any allocator's unit, while a million storages still add up to an exact integer. */
const mostUnitBytes = 2 ** 30;
const backends = fakeableBackends().map(({ name }) => name);
const optimizers = [...optimizerNames, noOptimizer];
const defaults = resolveStep();

const parsePath = (name: string, value: unknown): string => resolve(parseText(name, value));

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;

/**
 * The options of every command with a MODEL that describe its training step. They have no defaults here: missing ones
 * are decided by `resolveStep` or by a plan.
 */
export const stepOptions = grouped("The training step", [
  option("--batch <n>", {
    access: "data",
    purpose: "Samples in a batch (default: the model's own, or 1)",
    parse: parseCount,
  }),
  option("--size <size>", {
    access: "data",
    purpose: `Of an example module: ${listed(modelSizes)} (default: ${defaults.size})`,
    choices: modelSizes,
  }),
  option("--loss <name>", {
    access: "data",
    choices: lossNames,
    purpose: `Loss where the model has none: ${listed(lossNames)} (default: cross-entropy after a softmax, else mean squared error)`,
    parse: parseText,
  }),
  option("--optimizer <name>", {
    access: "data",
    choices: optimizers,
    purpose: `What updates the weights: ${listed(optimizers)} (default: ${defaults.optimizer})`,
    parse: parseText,
  }),
  option("--data <file>", {
    access: "code",
    reads: true,
    purpose: "Inputs and targets of a batch: a JSON file or an ES module (default: random)",
    parse: parsePath,
  }),
  option("--layers <file>", {
    access: "code",
    reads: true,
    purpose: "Layers of your own in a Keras model: an ES module, export default ({ tf }) => [classes] (default: none)",
    parse: parsePath,
  }),
  option("--backend <name>", {
    access: "data",
    choices: backends,
    purpose: `Backend whose buffers are meant, or on which ops run: ${listed(backends)} (default: ${defaults.backend}; where ops run, the best that works)`,
  }),
  option("--unit <bytes>", {
    access: "data",
    purpose: "Sizes are rounded up to a multiple of this (default: 1, or the trace's own)",
    parse: (name, value) => parseCount(name, value, 1, mostUnitBytes),
  }),
  option("--group <by>", {
    access: "data",
    purpose: `How a flat Keras model gets a hierarchy: ${listed(groupingNames)} (default: ${String(defaults.grouping)})`,
    choices: groupingNames,
  }),
  option("--checkpointing <how>", {
    access: "data",
    choices: checkpointings,
    purpose: `Of blocks that the model checkpoints by hand: given, recomputed as they say, or free, as they are (default: ${defaults.checkpointing}; of plan and run free)`,
  }),
  option("--seed <n>", {
    access: "data",
    purpose: "Seed of weights, random data, dropout, and the search for plans (default: 0)",
    parse: (name, value) => parseCount(name, value, 0),
  }),
]);

/** For commands that run steps. For others the values of weights do not matter. */
export const weightsOption = option("--weights <file>", {
  access: "file",
  reads: true,
  purpose: "Weights of a Keras model: .weights.h5, .h5 or .keras (default: those of its own file, else random)",
  parse: parsePath,
});

/** For commands that record steps. */
export const recordOptions = grouped("The training step", [
  option("--steps <n>", {
    access: "data",
    purpose: "How many training steps to record (default: 1)",
    parse: parseCount,
  }),
]);

/** For commands that can also analyse inference. */
export const predictOption = option("--predict", {
  access: "data",
  purpose: "Not a training step but what predict does for a batch: a forward pass alone",
  group: "The training step",
});

/** For commands that print results. */
export const printOptions = grouped("Output", [
  formatOption,
  unitsOption,
  option("--trace <file>", {
    access: "output",
    purpose: "Also write the trace: out.remat.jsonl, or out.remat.jsonl.gz",
    writes: "text or gzip",
  }),
]);

/** The requested training step of a model. */
export interface ModelOptions {
  readonly request: StepRequest;
  /** A file with a batch. */
  readonly data: string | undefined;
  /** A module with layers. */
  readonly layers?: string | undefined;
}

/** Values of the options that describe a step. A command may have only some of them. */
export type StepOptionValues = Partial<
  OptionValues<typeof stepOptions | typeof recordOptions | readonly [typeof predictOption]>
>;

/** Returns the step that the options describe. */
export function modelOptionsOf(options: StepOptionValues): ModelOptions {
  const { data } = options;
  return {
    request: {
      size: options.size,
      batch: options.batch,
      loss: options.loss,
      data,
      optimizer: options.optimizer,
      backend: options.backend,
      allocationUnitBytes: options.unit,
      grouping: options.group,
      checkpointing: options.checkpointing,
      seed: options.seed,
      steps: options.steps,
      predict: options.predict === true ? true : undefined,
    },
    data,
    layers: options.layers,
  };
}

/** The option that sets each field of a request. */
export const optionOfField: Readonly<Record<keyof Omit<StepRequest, "stepsBefore" | "fasterGradients">, string>> = {
  size: "size",
  batch: "batch",
  loss: "loss",
  data: "data",
  optimizer: "optimizer",
  backend: "backend",
  allocationUnitBytes: "unit",
  grouping: "group",
  checkpointing: "checkpointing",
  seed: "seed",
  steps: "steps",
  predict: "predict",
};
