import { Category, type CategoryName } from "@remat/trace";

/**
 * The categories that a tracker always shows, even if they are empty, in the order of its display, with the names that
 * PyTorch's tracker uses.
 */
export interface CategoryLabels {
  readonly always: readonly CategoryName[];
  readonly labels: Readonly<Record<CategoryName, string>>;
}

const labels: Readonly<Record<CategoryName, string>> = {
  parameter: "Parameter",
  buffer: "Buffer",
  gradient: "Gradient",
  activation: "Activation",
  temporary: "Temp",
  optimizerState: "Optstate",
  other: "Other",
  input: "Input",
  shardedParameter: "Sharded Param",
  unshardedParameter: "Unsharded Param",
  shardedGradient: "Sharded Grad",
  unshardedGradient: "Unsharded Grad",
  allGather: "All Gather",
  reduceScatter: "Reduce Scatter",
};

/**
 * Labels of `torch.distributed._tools.mem_tracker`. A category that PyTorch's tracker does not have (`input`) is shown
 * if a trace has it.
 */
export const memTrackerLabels: CategoryLabels = {
  always: ["parameter", "buffer", "gradient", "activation", "temporary", "optimizerState", "other"],
  labels,
};

/** Labels of `torch.distributed._tools.fsdp2_mem_tracker`. */
export const fsdpTrackerLabels: CategoryLabels = {
  always: [
    "shardedParameter",
    "unshardedParameter",
    "buffer",
    "shardedGradient",
    "unshardedGradient",
    "activation",
    "temporary",
    "allGather",
    "reduceScatter",
    "optimizerState",
    "input",
  ],
  labels: { ...labels, optimizerState: "OptState", input: "Inputs" },
};

/** Returns the categories to show, given those marked in `seen` (by {@link Category}) as having occurred. */
export function shownCategories(table: CategoryLabels, seen: Uint8Array): readonly CategoryName[] {
  const more = (Object.keys(table.labels) as CategoryName[]).filter(
    (name) => seen[Category[name]] === 1 && !table.always.includes(name),
  );
  return [...table.always, ...more];
}
