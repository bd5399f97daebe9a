import { RematError } from "@remat/trace";
import { goalOfBudget } from "../checkpointing/checkpointing-goal.js";
import { planningGraphOfTrace } from "../graph/planning-graph-of-trace.js";
import { type ModulePolicy, planModule } from "../module-policy/plan-module.js";
import type { ModulePolicyMethod } from "../module-policy/policy-input.js";
import { type CheckpointedPolicy, planOfCheckpoints } from "../plan/plan-of-checkpoints.js";
import { moduleStatistics } from "./module-statistics.js";
import { namedModules, outermostModules } from "./named-modules.js";
import type { MethodTable, PlanMethod } from "./plan-method.js";

type NamedPolicy = CheckpointedPolicy & { readonly policy: ModulePolicy };

/**
 * Returns a method that chooses the results to store in each module, with one of the methods of {@link planModule}.
 * Each module has its own budget.
 */
export function modulePolicies(name: ModulePolicyMethod, how: string, aliases: readonly string[] = []): PlanMethod {
  return {
    name,
    aliases,
    purpose: `choose what each module saves, ${how}`,
    budgetOf: "module",
    takes: new Set(["modules"]),
    async plan(trace, { budget, modules = [], timeMs }) {
      if (budget === undefined)
        throw new RematError("BUDGET", `the method ${name} needs a budget. Pass one, such as "60%".`);
      const { sac } = moduleStatistics(trace);
      const names = modules.length === 0 ? outermostModules(sac.keys()) : namedModules(modules, [...sac.keys()]);
      const policies: NamedPolicy[] = [];
      for (const fqn of names) {
        const stats = sac.get(fqn)!;
        if (stats.ops.length === 0) continue;
        const policy = await planModule(stats, {
          ...goalOfBudget(budget),
          method: name,
          timeLimitS: timeMs === undefined ? undefined : Math.max(1, timeMs / 1000),
        });
        policies.push({ fqn, recomputedOps: policy.recomputedOps, policy });
      }
      const plan = planOfCheckpoints(trace, planningGraphOfTrace(trace), policies, {
        budgetBytes: policies.reduce((sum, { policy }) => sum + policy.budgetBytes, 0),
        method: name,
      });
      return { plan, trace, checkpointed: policies.map(({ fqn }) => fqn), tables: [policyTable(policies)], notes: [] };
    },
  };
}

function policyTable(policies: readonly NamedPolicy[]): MethodTable {
  return {
    name: "policies",
    title: "Policies by module",
    columns: [
      ["Module", "text"],
      ["Ops saved", "count"],
      ["Recomputed", "count"],
      ["Saved", "bytes"],
      ["Limit", "bytes"],
      ["Recomputation", "ms"],
      ["Optimality gap", "share"],
    ],
    rows: policies.map(({ fqn, policy }) => [
      fqn,
      policy.storedOps.length,
      policy.recomputedOps.length,
      policy.storedBytes,
      policy.budgetBytes,
      policy.recomputationMs,
      policy.gap,
    ]),
    remark:
      "The budget is a share of the memory for all results of the module. In the simulated step, each module is recomputed when its backward pass begins.",
    data: policies.map(({ fqn, policy }) => ({
      fqn,
      ...policy,
      isStored: undefined,
      storedOps: Array.from(policy.storedOps),
      recomputedOps: Array.from(policy.recomputedOps),
    })),
  };
}
