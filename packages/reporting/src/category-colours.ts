import type { CategoryName } from "@remat/trace";

/** A colour for each of two backgrounds, as `#rrggbb`. */
export interface Colour {
  /** On white: contrast of at least 3 : 1. */
  readonly light: string;
  /** On black or nearly so: contrast of at least 3 : 1. */
  readonly dark: string;
}

const parameter: Colour = { light: "#326a62", dark: "#546e55" };
const gradient: Colour = { light: "#990603", dark: "#eeac80" };

/**
 * The colour of each category of memory, the same wherever one is shown. Any two that can occur together differ clearly for readers with
 * normal vision, protanopia, deuteranopia and tritanopia; a parameter or gradient that FSDP has gathered has the colour of a plain one.
 *
 * @example
 * categoryColours.activation.light; // "#316ae8"
 */
export const categoryColours: Readonly<Record<CategoryName, Colour>> = {
  activation: { light: "#316ae8", dark: "#77d7fd" },
  temporary: { light: "#c28825", dark: "#d27d14" },
  gradient,
  parameter,
  optimizerState: { light: "#861898", dark: "#a338b0" },
  buffer: { light: "#009aea", dark: "#409eef" },
  input: { light: "#926a00", dark: "#d9ea16" },
  other: { light: "#959191", dark: "#968d91" },
  unshardedParameter: parameter,
  unshardedGradient: gradient,
  shardedParameter: { light: "#65836b", dark: "#a6f199" },
  shardedGradient: { light: "#974939", dark: "#bb3d05" },
  allGather: { light: "#28535c", dark: "#8ebdbf" },
  reduceScatter: { light: "#8d69a7", dark: "#7565ef" },
};

/** What each category is called where people read it. */
export const categoryLabels: Readonly<Record<CategoryName, string>> = {
  activation: "Activations",
  temporary: "Temporaries",
  gradient: "Gradients",
  parameter: "Parameters",
  optimizerState: "Optimizer state",
  buffer: "Buffers",
  input: "Inputs",
  other: "Other",
  shardedParameter: "Parameter shards",
  unshardedParameter: "Gathered parameters",
  shardedGradient: "Gradient shards",
  unshardedGradient: "Unreduced gradients",
  allGather: "All-gather buffers",
  reduceScatter: "Reduce-scatter buffers",
};

/** Returns what a category is called where people read it; of a name that is none of ours, the name. */
export function labelCategory(name: string): string {
  return Object.hasOwn(categoryLabels, name) ? categoryLabels[name as CategoryName] : name;
}

/**
 * Categories from the one that lies lowest in a stack up: what stays is below what comes and goes, so that the upper edge of a band says
 * something of that band.
 */
export const categoryStack: readonly CategoryName[] = [
  "parameter",
  "shardedParameter",
  "optimizerState",
  "buffer",
  "other",
  "input",
  "gradient",
  "shardedGradient",
  "unshardedParameter",
  "activation",
  "unshardedGradient",
  "allGather",
  "reduceScatter",
  "temporary",
];

/** Colours for things that have no category, such as modules side by side; they repeat after the last. */
export const seriesColours: readonly Colour[] = (
  [
    "activation",
    "temporary",
    "parameter",
    "optimizerState",
    "gradient",
    "buffer",
    "input",
    "reduceScatter",
    "shardedParameter",
    "shardedGradient",
    "allGather",
  ] as const
).map((name) => categoryColours[name]);
