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
import { type CommandOption, type CommandOptions, grouped } from "./command.js";
import { formatOption, unitsOption } from "./format-option.js";
import { parseChoice, parseCount, parseText } from "./usage-error.js";

/** Far above any allocator's, and a million storages still add up in whole numbers. */
const mostUnitBytes = 2 ** 30;
const backends = fakeableBackends().map(({ name }) => name);
const optimizers = [...optimizerNames, noOptimizer];
const defaults = resolveStep();

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;

/**
 * The options of every command with a MODEL: what is said of its training step. They have no defaults here: what is not given is decided by
 * `resolveStep`, or by a plan.
 */
export const stepOptions: readonly CommandOption[] = grouped("The training step", [
  { flags: "--batch <n>", access: "data", purpose: "Samples in a batch (default: the model's own, or 1)" },
  {
    flags: "--size <size>",
    access: "data",
    purpose: `Of an example module: ${listed(modelSizes)} (default: ${defaults.size})`,
    choices: modelSizes,
  },
  {
    flags: "--loss <name>",
    access: "data",
    choices: lossNames,
    purpose: `Loss where the model has none: ${listed(lossNames)} (default: cross-entropy after a softmax, else mean squared error)`,
  },
  {
    flags: "--optimizer <name>",
    access: "data",
    choices: optimizers,
    purpose: `What updates the weights: ${listed(optimizers)} (default: ${defaults.optimizer})`,
  },
  {
    flags: "--data <file>",
    access: "code",
    reads: true,
    purpose: "Inputs and targets of a batch: a JSON file or an ES module (default: random)",
  },
  {
    flags: "--layers <file>",
    access: "code",
    reads: true,
    purpose: "Layers of your own in a Keras model: an ES module, export default ({ tf }) => [classes] (default: none)",
  },
  {
    flags: "--backend <name>",
    access: "data",
    choices: backends,
    purpose: `Backend whose buffers are meant, or on which ops run: ${listed(backends)} (default: ${defaults.backend}; where ops run, the best that works)`,
  },
  {
    flags: "--unit <bytes>",
    access: "data",
    purpose: "Sizes are rounded up to a multiple of this (default: 1, or the trace's own)",
  },
  {
    flags: "--group <by>",
    access: "data",
    purpose: `How a flat Keras model gets a hierarchy: ${listed(groupingNames)} (default: ${String(defaults.grouping)})`,
    choices: groupingNames,
  },
  {
    flags: "--checkpointing <how>",
    access: "data",
    choices: checkpointings,
    purpose: `Of blocks that the model checkpoints by hand: given, recomputed as they say, or free, as they are (default: ${defaults.checkpointing}; of plan and run free)`,
  },
  {
    flags: "--seed <n>",
    access: "data",
    purpose: "Seed of weights, random data, dropout, and the search for plans (default: 0)",
  },
]);

/** Of a command that runs steps: elsewhere the values of weights do not matter. */
export const weightsOption: CommandOption = {
  flags: "--weights <file>",
  access: "file",
  reads: true,
  purpose: "Weights of a Keras model: .weights.h5, .h5 or .keras (default: those of its own file, else random)",
};

/** Those of a command that records steps. */
export const recordOptions: readonly CommandOption[] = grouped("The training step", [
  { flags: "--steps <n>", access: "data", purpose: "How many training steps to record (default: 1)" },
]);

/** Of a command that tells of a model as it is used, too. */
export const predictOption: CommandOption = {
  flags: "--predict",
  access: "data",
  purpose: "Not a training step but what predict does for a batch: a forward pass alone",
  group: "The training step",
};

/** Those of a command that prints what it finds. */
export const printOptions: readonly CommandOption[] = grouped("Output", [
  formatOption,
  unitsOption,
  {
    flags: "--trace <file>",
    access: "output",
    purpose: "Also write the trace: out.remat.jsonl, or out.remat.jsonl.gz",
    writes: "text or gzip",
  },
]);

/** What was said of a model's training step. */
export interface ModelOptions {
  readonly request: StepRequest;
  /** A file with a batch. */
  readonly data: string | undefined;
  /** A module with layers. */
  readonly layers?: string | undefined;
}

/**
 * Parses what of the options says which step to take.
 *
 * @throws UsageError naming the option
 */
export function parseModelOptions(options: CommandOptions): ModelOptions {
  const given = <T>(name: string, parse: (name: string, value: unknown) => T): T | undefined =>
    options[name] === undefined ? undefined : parse(name, options[name]);
  const data = given("data", (name, value) => resolve(parseText(name, value)));
  return {
    request: {
      size: given("size", (name, value) => parseChoice(name, value, modelSizes)),
      batch: given("batch", parseCount),
      loss: given("loss", parseText),
      data,
      optimizer: given("optimizer", parseText),
      backend: given("backend", (name, value) => parseChoice(name, value, backends)),
      allocationUnitBytes: given("unit", (name, value) => parseCount(name, value, 1, mostUnitBytes)),
      grouping: given("group", (name, value) => parseChoice(name, value, groupingNames)),
      checkpointing: given("checkpointing", (name, value) => parseChoice(name, value, checkpointings)),
      seed: given("seed", (name, value) => parseCount(name, value, 0)),
      steps: given("steps", parseCount),
      predict: options["predict"] === true ? true : undefined,
    },
    data,
    layers: given("layers", (name, value) => resolve(parseText(name, value))),
  };
}

/** Which option sets which field of a request. */
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
