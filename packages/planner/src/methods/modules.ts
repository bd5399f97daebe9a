import { bytesOfBudget, heldPeak } from "@remat/memory";
import { shardStates } from "@remat/sharding";
import { type Plan, RematError } from "@remat/trace";
import { planningGraphOfTrace } from "../graph/planning-graph-of-trace.js";
import { InfeasibleBudgetError } from "../infeasible-budget-error.js";
import { planModule } from "../module-policy/plan-module.js";
import { type ModuleTreePlan, planModules } from "../module-tree/plan-modules.js";
import { type CheckpointedPolicy, planOfCheckpoints } from "../plan/plan-of-checkpoints.js";
import { moduleStatistics } from "./module-statistics.js";
import { namedModules } from "./named-modules.js";
import type { MethodTable, PlanMethod } from "./plan-method.js";

/**
 * Chooses which modules of the tree to checkpoint, and reports the peak of the module model next to the simulated one.
 */
export const modulesMethod: PlanMethod = {
  name: "modules",
  purpose: "choose modules to checkpoint",
  budgetOf: "step",
  takes: new Set(["modules", "sharding"]),
  async plan(trace, { budget, modules: allowed = [], worldSize = 1, fsdpUnits = [], timeMs }) {
    if (budget === undefined)
      throw new RematError("BUDGET", 'the method modules needs a budget. Pass one, such as "60%".');
    const { modules, sac, leftOut } = moduleStatistics(trace);
    const names = modules.map(({ fqn }) => fqn);
    const allowedUnits = allowed.length === 0 ? undefined : namedModules(allowed, names);
    const options = { worldSize, fsdpUnits: namedModules(fsdpUnits, names), ...(allowedUnits && { allowedUnits }) };
    // Each of many ranks uses less memory than the recorded device. The peak without a plan is then that of the module
    // model, which includes all-gathered parameters.
    const referenceBytes =
      worldSize === 1
        ? heldPeak(trace).peakBytes
        : (await planModules(modules, { ...options, budgetBytes: 1e18 })).baselinePeakBytes;
    const budgetBytes = bytesOfBudget(budget, referenceBytes);
    const held = worldSize === 1 ? trace : shardStates(trace, worldSize);
    const timeLimitS = timeMs === undefined ? undefined : Math.max(1, timeMs / 1000);
    const graph = planningGraphOfTrace(held);
    const planFor = async (aimedBytes: number): Promise<TreeAndPlan> => {
      const tree = await planModules(modules, {
        ...options,
        budgetBytes: aimedBytes,
        timeLimitS,
      });
      const policies = await Promise.all(
        tree.modules.map(async ({ fqn, freedShare }): Promise<CheckpointedPolicy> => {
          const { recomputedOps } = await planModule(sac.get(fqn)!, { budgetFraction: 1 - freedShare });
          return { fqn, recomputedOps };
        }),
      );
      return { tree, plan: planOfCheckpoints(held, graph, policies, { budgetBytes, method: "modules" }) };
    };
    const { tree, plan } = await planWithin(budgetBytes, planFor);
    return {
      plan,
      trace: held,
      checkpointed: tree.modules.map(({ fqn }) => fqn),
      tables: [boundTable(tree, plan), treeTable(tree)],
      notes: [
        ...(leftOut.length === 0 ? [] : [`left out, without a backward pass: ${leftOut.join(", ")}`]),
        ...(worldSize === 1
          ? []
          : [
              `parameters, their gradients and optimizer states are shards of one of ${worldSize} ranks; what FSDP gathers is not counted`,
            ]),
        ...(plan.predicted.plain.peakBytes <= budgetBytes && tree.modules.length > 0
          ? ["a plan that recomputes nothing stays within the budget: --method schedule finds it"]
          : []),
      ],
    };
  },
};

interface TreeAndPlan {
  readonly tree: ModuleTreePlan;
  readonly plan: Plan;
}

/**
 * Maximum number of plans, each with a lower budget. They are needed because the simulation shows memory that the
 * module model leaves out.
 */
const mostTries = 6;

/**
 * Lowers the aim by the amount by which the simulated peak exceeds the budget, and plans again. Returns the first plan
 * within the budget, or the plan with the smallest peak.
 */
async function planWithin(
  budgetBytes: number,
  planFor: (aimedBytes: number) => Promise<TreeAndPlan>,
): Promise<TreeAndPlan> {
  let best = await planFor(budgetBytes);
  let aimedBytes = budgetBytes;
  let peakBytes = best.plan.predicted.peakBytes;
  for (let i = 1; i < mostTries && peakBytes > budgetBytes; i++) {
    aimedBytes -= peakBytes - budgetBytes;
    if (aimedBytes <= 0) break;
    let found: TreeAndPlan;
    try {
      found = await planFor(aimedBytes);
    } catch (error) {
      if (error instanceof InfeasibleBudgetError) break;
      throw error;
    }
    peakBytes = found.plan.predicted.peakBytes;
    if (peakBytes < best.plan.predicted.peakBytes) best = found;
  }
  return best;
}

function boundTable(
  { peakBytes, baselinePeakBytes, recomputationMs, lowerBoundMs, gap }: ModuleTreePlan,
  { predicted }: Plan,
): MethodTable {
  const simulatedMs = predicted.cost - predicted.plain.cost;
  return {
    name: "bound",
    title: "Module model and simulated step",
    columns: [
      ["", "text"],
      ["Peak without a plan", "bytes"],
      ["Peak", "bytes"],
      ["Recomputation", "ms"],
      ["Optimality gap", "share"],
    ],
    rows: [
      ["model's bound", baselinePeakBytes, peakBytes, recomputationMs, gap],
      ["simulated", predicted.plain.peakBytes, predicted.peakBytes, simulatedMs, undefined],
    ],
    remark:
      "In the simulated step, everything is freed after its last use, and each module is recomputed when its backward pass begins.",
    data: {
      modelPeakBytes: peakBytes,
      modelBaselinePeakBytes: baselinePeakBytes,
      modelRecomputationMs: recomputationMs,
      modelLowerBoundMs: lowerBoundMs,
      modelGap: gap,
      simulatedPeakBytes: predicted.peakBytes,
      simulatedBaselinePeakBytes: predicted.plain.peakBytes,
      simulatedRecomputationMs: simulatedMs,
    },
  };
}

function treeTable({ modules }: ModuleTreePlan): MethodTable {
  return {
    name: "modules",
    title: modules.length === 0 ? "No module needs to be checkpointed" : "Checkpointed modules",
    columns: [
      ["Module", "text"],
      ["Activations freed", "share"],
      ["Memory freed", "bytes"],
      ["Recomputation", "ms"],
    ],
    rows: modules.map(({ fqn, freedShare, freedBytes, recomputationMs }) => [
      fqn,
      freedShare,
      freedBytes,
      recomputationMs,
    ]),
    data: modules,
  };
}
