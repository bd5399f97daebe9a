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
import { type OptionValues, option } from "./command.js";
import { formatOption, unitsOption } from "./format-option.js";
import { parseCount, parseText } from "./usage-error.js";

/**
 * Far above any allocator's unit, and small enough that the sizes of a million storages still add up to an exact
 * integer.
 */
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
export const stepOptions = [
  option("--batch <n>", {
    group: "usual",
    access: "data",
    purpose: "Samples per batch (default: set by the model, or 1)",
    parse: parseCount,
  }),
  option("--size <size>", {
    group: "rare",
    access: "data",
    purpose: `Size to build, if the model file offers several: ${listed(modelSizes)} (default: ${defaults.size})`,
    choices: modelSizes,
  }),
  option("--loss <name>", {
    group: "rare",
    access: "data",
    choices: lossNames,
    purpose: `Loss, if the model sets none: ${listed(lossNames)} (default: cross-entropy after a softmax, else mean squared error)`,
    parse: parseText,
  }),
  option("--optimizer <name>", {
    group: "usual",
    access: "data",
    choices: optimizers,
    purpose: `Optimizer: ${listed(optimizers)} (default: the model's, or ${defaults.optimizer})`,
    parse: parseText,
  }),
  option("--data <file>", {
    group: "rare",
    access: "code",
    reads: true,
    purpose: "Inputs and targets of a batch, as a JSON file or an ES module (default: random)",
    parse: parsePath,
  }),
  option("--layers <file>", {
    group: "rare",
    access: "code",
    reads: true,
    purpose: "Custom layers of a Keras model, as an ES module that exports ({ tf }) => [classes] (default: none)",
    parse: parsePath,
  }),
  option("--backend <name>", {
    group: "rare",
    access: "data",
    choices: backends,
    purpose: `Backend to predict, or to run the ops on: ${listed(backends)} (default: ${defaults.backend}, and to run ops the fastest that works)`,
  }),
  option("--unit <bytes>", {
    group: "rare",
    access: "data",
    purpose: "Allocation unit: sizes are rounded up to a multiple of this (default: the trace's unit, or 1)",
    parse: (name, value) => parseCount(name, value, 1, mostUnitBytes),
  }),
  option("--group <by>", {
    group: "rare",
    access: "data",
    purpose: `How to group the layers of a flat Keras model: ${listed(groupingNames)}. prefixes groups by name, and cuts splits at single tensors that connect two parts (default: ${String(defaults.grouping)})`,
    choices: groupingNames,
  }),
  option("--checkpointing <how>", {
    group: "rare",
    access: "data",
    choices: checkpointings,
    purpose: `Manual activation checkpointing in the model: given keeps it, free ignores it (default: ${defaults.checkpointing}; free for plan and run)`,
  }),
  option("--seed <n>", {
    group: "rare",
    access: "data",
    purpose: "Seed of weights, random data, dropout and the plan search (default: 0)",
    parse: (name, value) => parseCount(name, value, 0),
  }),
];

/** For commands that run steps. For others the values of weights do not matter. */
export const weightsOption = option("--weights <file>", {
  group: "rare",
  access: "file",
  reads: true,
  purpose: "Weights of a Keras model: .weights.h5, .h5 or .keras (default: those in the model file, else random)",
  parse: parsePath,
});

/** For commands that record steps. */
export const recordOptions = [
  option("--steps <n>", {
    group: "rare",
    access: "data",
    purpose: "Number of training steps to record (default: 1)",
    parse: parseCount,
  }),
];

/** For commands that can also analyse inference. */
export const predictOption = option("--predict", {
  group: "usual",
  access: "data",
  purpose: "Analyze inference of one batch instead of a training step",
});

/** For commands that print results. */
export const printOptions = [
  formatOption,
  unitsOption,
  option("--trace <file>", {
    group: "output",
    access: "output",
    purpose: "Also write the trace to a file such as out.remat.jsonl, out.remat.jsonl.gz or out.remat.arrow",
    writes: "text or gzip",
  }),
];

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
