import type { SACStats } from "@remat/sac-core";
import { RematError } from "@remat/trace";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { InfeasibleBudgetError } from "../infeasible-budget-error.js";
import { solveKnapsack } from "../knapsack/solve-knapsack.js";
import { budgetInBytes, checkStats, type ModuleBudget, type ModulePolicyMethod } from "./policy-input.js";
import { type TiedOps, tieOps } from "./tied-ops.js";

/** The decision which results of a module to store. Ops are indices into the lists of its `SACStats`. */
export interface ModulePolicy {
  readonly method: ModulePolicyMethod;
  /** For each op, 1 for stored and 0 for recomputed. */
  readonly isStored: Uint8Array;
  /** The stored ops, ascending, and the recomputed ones. */
  readonly storedOps: Int32Array;
  readonly recomputedOps: Int32Array;
  readonly budgetBytes: number;
  /** Total size of the stored results. */
  readonly storedBytes: number;
  /** Total runtime of the recomputed ops. */
  readonly recomputationMs: number;
  /** A lower bound on the recomputation time of any policy within the budget. */
  readonly lowerBoundMs: number;
  /** The optimality gap, `(recomputationMs - lowerBoundMs) / recomputationMs`: 0 if the policy is proven optimal. */
  readonly gap: number;
}

/** Options for {@link planModule}. */
export type ModulePolicyOptions = ModuleBudget & {
  /** The default is `"dp"`. */
  readonly method?: ModulePolicyMethod;
  /** Seconds after which `"milp"` returns the best policy found. Default: 10. */
  readonly timeLimitS?: number | undefined;
};

/**
 * Chooses which ops of one module to store and which to recompute, so that the stored results fit a budget and
 * recomputation takes the least time. This is the checkpointing policy of xformers and of PyTorch's
 * `get_optimal_checkpointing_policy_per_module`, with the same constraints: all random ops are stored or none, in-place
 * ops are stored together with the op they write into, and views are recomputed. Results without memory are stored.
 *
 * `"dp"` and `"milp"` find the optimum (see {@link solveKnapsack}). `"greedy"` usually finds a result within one
 * percent of it. Each returns its optimality gap. The budget is never exceeded.
 *
 * Source: `torch/distributed/_tools/sac_ilp.py`, where the solver stops within 5% of the optimum.
 *
 * @throws InfeasibleBudgetError if the ops that must be stored exceed the budget, with their names
 * @throws RematError `POLICY_INPUT` if statistics or the budget are negative or not numbers, or if an op would have to
 * be both stored and recomputed
 * @example
 * const policy = await planModule(sacStats(trace).get("net.layers.0"), { budgetFraction: 0.5 });
 * policy.recomputedOps; // policy.recomputationMs, policy.gap
 */
export async function planModule(stats: SACStats, options: ModulePolicyOptions): Promise<ModulePolicy> {
  checkStats(stats);
  const { method = "dp", timeLimitS } = options;
  if (method !== "dp" && method !== "milp" && method !== "greedy")
    throw new RematError(
      "POLICY_INPUT",
      `module policy: unknown method ${JSON.stringify(method)}. Use "dp", "milp" or "greedy".`,
    );
  const budgetBytes = budgetInBytes(options, stats.memoryBytes.reduce(add, 0));
  const tied = tieOps(stats);
  const open: number[] = [];
  let forcedBytes = 0;
  for (let group = 0; group < tied.count; group++) {
    if (tied.fate[group] === 1) forcedBytes += tied.memoryBytes[group];
    else if (tied.fate[group] === -1) open.push(group);
  }
  if (forcedBytes > budgetBytes) throw overBudget(stats, tied, forcedBytes, budgetBytes);

  const isStored = tied.fate.map((fate) => (fate === 1 ? 1 : 0));
  let gapMs = 0;
  if (open.length > 0) {
    const { saved, runtime, bound } = await solveKnapsack({
      memory: open.map((group) => tied.memoryBytes[group]),
      runtime: open.map((group) => tied.runtimeMs[group]),
      budget: budgetBytes - forcedBytes,
      method: method === "milp" ? "ilp" : method,
      timeLimitS,
    });
    for (const item of saved) isStored[open[item]] = 1;
    gapMs = bound - runtime;
  }
  return policyOf(stats, tied, { method, budgetBytes, isStored, gapMs });
}

function policyOf(
  stats: SACStats,
  tied: TiedOps,
  found: { method: ModulePolicyMethod; budgetBytes: number; isStored: Int8Array; gapMs: number },
): ModulePolicy {
  const isStored = Uint8Array.from(tied.group, (group) => found.isStored[group]);
  const ops = Int32Array.from(isStored.keys());
  const storedOps = ops.filter((op) => isStored[op] === 1);
  const recomputedOps = ops.filter((op) => isStored[op] === 0);
  const recomputationMs = recomputedOps.reduce((sum, op) => sum + stats.runtimesMs[op], 0);
  const lowerBoundMs = Math.max(0, recomputationMs - found.gapMs);
  return {
    method: found.method,
    isStored,
    storedOps,
    recomputedOps,
    budgetBytes: found.budgetBytes,
    storedBytes: storedOps.reduce((sum, op) => sum + stats.memoryBytes[op], 0),
    recomputationMs,
    lowerBoundMs,
    gap: recomputationMs > 0 ? (recomputationMs - lowerBoundMs) / recomputationMs : 0,
  };
}

/** Number of ops that an error message names. */
const named = 3;

function overBudget(stats: SACStats, tied: TiedOps, forcedBytes: number, budgetBytes: number): InfeasibleBudgetError {
  const ops = Array.from(tied.group.keys()).filter(
    (op) => tied.fate[tied.group[op]] === 1 && stats.memoryBytes[op] > 0,
  );
  ops.sort((a, b) => stats.memoryBytes[b] - stats.memoryBytes[a] || a - b);
  const largest = ops
    .slice(0, named)
    .map((op) => `op ${op} (${stats.funcNames[op]}) with ${formatBytes(stats.memoryBytes[op])}`);
  const others = ops.length > named ? ` and ${ops.length - named} more` : "";
  return new InfeasibleBudgetError(
    forcedBytes,
    `module policy: random and in-place ops must be stored and take ${formatBytes(forcedBytes)}, more than the budget of ${formatBytes(budgetBytes)}. ` +
      `Raise the budget to ${formatTypedBytes(forcedBytes)}. The largest: ${largest.join(", ")}${others}.`,
  );
}

function add(a: number, b: number): number {
  return a + b;
}
