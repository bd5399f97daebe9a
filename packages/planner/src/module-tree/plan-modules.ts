import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { InfeasibleBudgetError } from "../infeasible-budget-error.js";
import type { ModuleStats } from "./module-stats.js";
import { freedBytes, memoryByModule, recomputationMs, type Shares, type TreeModel, treeModel } from "./tree-model.js";
import { checkTree, type ModuleTreeOptions } from "./tree-options.js";
import { minimizePeak, minimizeRecomputation } from "./tree-program.js";

/** A module that is checkpointed. */
export interface CheckpointedModule {
  readonly fqn: string;
  /**
   * The share of its ops' activations that is freed after the forward pass, including activations that are freed
   * without checkpointing.
   */
  readonly freedShare: number;
  /** The memory that checkpointing the module saves, in bytes. */
  readonly freedBytes: number;
  readonly recomputationMs: number;
}

/** The modules to checkpoint, and the share of activations that each frees. */
export interface ModuleTreePlan {
  /** The modules, in the order in which their forward passes end. */
  readonly modules: readonly CheckpointedModule[];
  readonly budgetBytes: number;
  /** Upper bounds on the peak with the plan, and without a plan. */
  readonly peakBytes: number;
  readonly baselinePeakBytes: number;
  readonly recomputationMs: number;
  /** A lower bound on the recomputation time of any plan within the budget, under the same model of memory. */
  readonly lowerBoundMs: number;
  /** The optimality gap, `(recomputationMs - lowerBoundMs) / recomputationMs`. */
  readonly gap: number;
}

/**
 * Chooses which modules of a tree to checkpoint, and the share of activations that each frees, so that memory stays
 * within a budget and recomputation takes the least time. Modules without children are not checkpointed. A checkpointed
 * module is neither inside another checkpointed module nor around an FSDP unit. HiGHS finds the optimum, unless `gap`
 * allows less. The peak is an upper bound, as in PyTorch. The memory at each module is the memory when its forward pass
 * ends, plus the gradients of its backward pass, minus the memory freed before.
 *
 * Source: `sac_milp` of `torch/distributed/_tools/sac_ilp.py`, where the solver stops within 5% of the optimum.
 *
 * @param modules in the order in which forward passes end. See {@link aggregateModuleStats}
 * @throws InfeasibleBudgetError with the module that is the bottleneck; RematError `MODULE_TREE` for invalid input,
 * with the module
 * @example
 * const plan = await planModules(modules, { budgetBytes: 1.6 * 2 ** 30, worldSize: 4 });
 * plan.modules; // [{ fqn: "Transformer.layers.0", freedShare: 0.52, … }, …]
 */
export async function planModules(
  modules: readonly ModuleStats[],
  options: ModuleTreeOptions,
): Promise<ModuleTreePlan> {
  checkTree(modules, options);
  const { budgetBytes, gap = 0, timeLimitS = 180 } = options;
  const model = treeModel(modules, options);
  const nothing = new Float64Array(model.units.length);
  if (highest(memoryByModule(model, nothing)).bytes <= budgetBytes) return planOf(model, budgetBytes, nothing, 0);

  const solution = await minimizeRecomputation(model, budgetBytes, { gap, timeLimitS });
  if (solution !== undefined) return planOf(model, budgetBytes, solution.shares, solution.lowerBoundMs);

  const smallest = await minimizePeak(model, timeLimitS);
  const peak = highest(memoryByModule(model, smallest));
  const smallestBytes = Math.ceil(peak.bytes);
  // The budget is tighter than the solver's tolerance, or time ran out. This plan meets the budget, and its gap shows
  // what is not proven.
  if (smallestBytes <= budgetBytes) return planOf(model, budgetBytes, smallest, 0);
  throw new InfeasibleBudgetError(
    smallestBytes,
    `module tree: the backward pass of ${modules[peak.place].fqn} needs ${formatBytes(smallestBytes)} even if all ${model.units.length} allowed modules are checkpointed, more than the budget of ${formatBytes(budgetBytes)}. ` +
      `Raise the budget to ${formatTypedBytes(smallestBytes)}, or allow more modules.`,
  );
}

function planOf(model: TreeModel, budgetBytes: number, shares: Shares, boundMs: number): ModuleTreePlan {
  const modules = model.units.flatMap((unit, u): CheckpointedModule[] =>
    shares[u] === 0
      ? []
      : [
          {
            fqn: unit.fqn,
            freedShare: shares[u],
            freedBytes: freedBytes(unit, shares[u]),
            recomputationMs: recomputationMs(unit, shares[u]),
          },
        ],
  );
  const total = modules.reduce((sum, module) => sum + module.recomputationMs, 0);
  const lowerBoundMs = Math.min(total, Math.max(0, boundMs));
  return {
    modules,
    budgetBytes,
    peakBytes: highest(memoryByModule(model, shares)).bytes,
    baselinePeakBytes: highest(model.heldBytes).bytes,
    recomputationMs: total,
    lowerBoundMs,
    gap: total > 0 ? (total - lowerBoundMs) / total : 0,
  };
}

function highest(memory: Float64Array): { bytes: number; place: number } {
  let place = 0;
  for (let i = 1; i < memory.length; i++) if (memory[i] > memory[place]) place = i;
  return { bytes: memory[place], place };
}
