import type { CategoryName } from "@remat/trace";

/** A colour for each of two backgrounds, as `#rrggbb`. */
export interface Colour {
  /** The colour on white, with a contrast of at least 3 : 1. */
  readonly light: string;
  /** The colour on black or nearly black, with a contrast of at least 3 : 1. */
  readonly dark: string;
}

const parameter: Colour = { light: "#326a62", dark: "#546e55" };
const gradient: Colour = { light: "#990603", dark: "#eeac80" };

/**
 * The colour of each memory category, the same in every view. Any two colours that can occur together differ clearly
 * for readers with normal vision, protanopia, deuteranopia and tritanopia. A parameter or gradient that FSDP has
 * all-gathered has the colour of an ordinary one.
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

/** Display name of each category. */
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
  unshardedParameter: "Unsharded parameters",
  shardedGradient: "Gradient shards",
  unshardedGradient: "Unreduced gradients",
  allGather: "All-gather buffers",
  reduceScatter: "Reduce-scatter buffers",
};

/** Returns the display name of a category. An unknown name is returned unchanged. */
export function labelCategory(name: string): string {
  return Object.hasOwn(categoryLabels, name) ? categoryLabels[name as CategoryName] : name;
}

/**
 * Categories from the bottom of a stack to the top. Long-lived memory is at the bottom, so that the upper edge of each
 * band shows that band's own changes.
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

/** Colours for items without a category, such as modules next to each other. They repeat after the last. */
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
