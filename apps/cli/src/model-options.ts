import type { CommandOption, CommandOptions } from "./command.js";
import { parseChoice, parseCount, parseText } from "./usage-error.js";

export const backends = ["tensorflow", "wasm", "cpu"] as const;
export const groupings = ["auto", "prefixes", "cuts", "none"] as const;
export const sizes = ["full", "tiny"] as const;

/** The options of every command with a MODEL. */
export const modelOptions: readonly CommandOption[] = [
  { flags: "--batch <n>", purpose: "Samples in a batch (default: the model's own, or 1)" },
  { flags: "--size <size>", purpose: "Which size of an example module to build: full or tiny", default: "full" },
  {
    flags: "--backend <name>",
    purpose:
      "Backend whose buffers are meant, or on which ops are timed: tensorflow, wasm or cpu (default: tensorflow; for timing the best that works)",
  },
  {
    flags: "--loss <name>",
    purpose: "Loss where the model has none: sum, mean, meanSquaredError, categoricalCrossentropy, softmaxCrossEntropy",
  },
  {
    flags: "--group <by>",
    purpose: "How a flat Keras model gets a hierarchy: auto, prefixes, cuts or none",
    default: "auto",
  },
];

/** Those of a command that prints what it finds. */
export const printOptions: readonly CommandOption[] = [
  { flags: "--format <format>", purpose: "table, plain, json, csv or md", default: "table" },
  { flags: "--trace <file>", purpose: "Also write the trace: out.remat.jsonl, or out.remat.jsonl.gz" },
];

/** How a model is to be built and traced. */
export interface ModelOptions {
  readonly size: (typeof sizes)[number];
  readonly batch: number | undefined;
  /** Undefined: whatever is best for what is to be done. */
  readonly backend: (typeof backends)[number] | undefined;
  readonly grouping: (typeof groupings)[number];
  readonly loss: string | undefined;
  readonly optimizer: string | undefined;
  /** Training steps to trace; 1 if not given. */
  readonly steps?: number;
  /** Steps to run before those; 0 if not given. */
  readonly stepsBefore?: number;
}

/** The options that every command with a MODEL shares. */
export function parseModelOptions(options: CommandOptions): ModelOptions {
  return {
    size: parseChoice("size", options["size"], sizes),
    batch: options["batch"] === undefined ? undefined : parseCount("batch", options["batch"]),
    backend: options["backend"] === undefined ? undefined : parseChoice("backend", options["backend"], backends),
    grouping: parseChoice("group", options["group"] ?? "auto", groupings),
    loss: options["loss"] === undefined ? undefined : parseText("loss", options["loss"]),
    optimizer: options["optimizer"] === undefined ? undefined : parseText("optimizer", options["optimizer"]),
  };
}
