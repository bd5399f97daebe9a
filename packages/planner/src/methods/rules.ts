import { bytesOfBudget, heldPeak } from "@remat/memory";
import type { Plan } from "@remat/trace";
import { planningGraphOfTrace } from "../graph/planning-graph-of-trace.js";
import { planOfCheckpoints } from "../plan/plan-of-checkpoints.js";
import { policiesOfRules } from "../plan/policies-of-rules.js";
import type { PlanMethod } from "./plan-method.js";

/**
 * Evaluates the user's own checkpointing rules, without a search. Without a budget, the plan's budget is its own peak.
 */
export const rulesMethod: PlanMethod = {
  name: "rules",
  purpose: "checkpoint the modules of --checkpoint, without a search",
  budgetOf: "step",
  takes: new Set(["checkpoint"]),
  async plan(trace, { budget, checkpoint = [] }) {
    const graph = planningGraphOfTrace(trace);
    const policies = policiesOfRules(trace, checkpoint);
    const planWithin = (budgetBytes: number): Plan =>
      planOfCheckpoints(trace, graph, policies, {
        budgetBytes,
        method: "rules",
      });
    const unbound = planWithin(Number.MAX_SAFE_INTEGER);
    const budgetBytes =
      budget === undefined ? unbound.predicted.peakBytes : bytesOfBudget(budget, heldPeak(trace).peakBytes);
    return {
      plan: planWithin(budgetBytes),
      trace,
      checkpointed: policies.map(({ fqn }) => fqn),
      tables: [],
      notes: [],
    };
  },
};
