import type { CommandOptions } from "./cli.js";
import { parseChoice, parseCount, parseText } from "./usage-error.js";

export const backends = ["tensorflow", "wasm", "cpu"] as const;
export const groupings = ["auto", "prefixes", "cuts", "none"] as const;
export const sizes = ["full", "tiny"] as const;

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
