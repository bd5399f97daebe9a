import { resolve } from "node:path";
import type { StepRequest } from "@remat/tracer/step";
import { type CommandOption, type CommandOptions, grouped } from "./command.js";
import { formatOption } from "./format-option.js";
import { parseChoice, parseCount, parseText } from "./usage-error.js";

const backends = ["tensorflow", "wasm", "cpu"] as const;
const groupings = ["auto", "prefixes", "cuts", "none"] as const;
const sizes = ["full", "tiny"] as const;

/**
 * The options of every command with a MODEL: what is said of its training step. They have no defaults here: what is not given is decided by
 * `resolveStep`, or by a plan.
 */
export const stepOptions: readonly CommandOption[] = grouped("The training step", [
  { flags: "--batch <n>", purpose: "Samples in a batch (default: the model's own, or 1)" },
  { flags: "--size <size>", purpose: "Of an example module: full or tiny (default: full)", choices: sizes },
  {
    flags: "--loss <name>",
    purpose:
      "Loss where the model has none: sum, mean, meanSquaredError, categoricalCrossentropy, softmaxCrossEntropy (default: cross-entropy after a softmax, else mean squared error)",
  },
  {
    flags: "--optimizer <name>",
    purpose:
      "What updates the weights: sgd, momentum, adam, adamax, rmsprop, adagrad, adadelta, or none (default: sgd)",
  },
  { flags: "--data <file>", purpose: "Inputs and targets of a batch: a JSON file or an ES module (default: random)" },
  {
    flags: "--backend <name>",
    choices: backends,
    purpose:
      "Backend whose buffers are meant, or on which ops run: tensorflow, wasm or cpu (default: tensorflow; where ops run, the best that works)",
  },
  { flags: "--unit <bytes>", purpose: "Sizes are rounded up to a multiple of this (default: 1, or the trace's own)" },
  {
    flags: "--group <by>",
    purpose: "How a flat Keras model gets a hierarchy: auto, prefixes, cuts or none (default: auto)",
    choices: groupings,
  },
  { flags: "--seed <n>", purpose: "Seed of weights, random data, dropout, and the search for plans (default: 0)" },
]);

/** Those of a command that records steps. */
export const recordOptions: readonly CommandOption[] = grouped("The training step", [
  { flags: "--steps <n>", purpose: "How many training steps to record (default: 1)" },
]);

/** Those of a command that prints what it finds. */
export const printOptions: readonly CommandOption[] = grouped("Output", [
  formatOption,
  { flags: "--trace <file>", purpose: "Also write the trace: out.remat.jsonl, or out.remat.jsonl.gz" },
]);

/** What was said of a model's training step. */
export interface ModelOptions {
  readonly request: StepRequest;
  /** A file with a batch. */
  readonly data: string | undefined;
}

/**
 * Parses what of the options says which step to take.
 *
 * @throws UsageError naming the option
 */
export function parseModelOptions(options: CommandOptions): ModelOptions {
  const given = <T>(name: string, parse: (name: string, value: unknown) => T): T | undefined =>
    options[name] === undefined ? undefined : parse(name, options[name]);
  return {
    request: {
      size: given("size", (name, value) => parseChoice(name, value, sizes)),
      batch: given("batch", parseCount),
      loss: given("loss", parseText),
      optimizer: given("optimizer", parseText),
      backend: given("backend", (name, value) => parseChoice(name, value, backends)),
      allocationUnitBytes: given("unit", parseCount),
      grouping: given("group", (name, value) => parseChoice(name, value, groupings)),
      seed: given("seed", (name, value) => parseCount(name, value, 0)),
      steps: given("steps", parseCount),
    },
    data: given("data", (name, value) => resolve(parseText(name, value))),
  };
}

/** Which option sets which field of a request. */
export const optionOfField: Readonly<Record<keyof Omit<StepRequest, "stepsBefore">, string>> = {
  size: "size",
  batch: "batch",
  loss: "loss",
  optimizer: "optimizer",
  backend: "backend",
  allocationUnitBytes: "unit",
  grouping: "group",
  seed: "seed",
  steps: "steps",
};
