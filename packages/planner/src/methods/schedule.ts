import { goalOfBudget } from "../checkpointing/checkpointing-goal.js";
import { type CheckpointingOptions, planCheckpointing } from "../checkpointing/plan-checkpointing.js";
import type { MethodRequest, PlanMethod } from "./plan-method.js";

/** Plans the whole step op by op: what is recomputed, and when. */
export const scheduleMethod: PlanMethod = {
  name: "schedule",
  purpose: "plan the whole step op by op",
  budgetOf: "step",
  takes: new Set(["maxOverhead", "pareto", "order", "link"]),
  async plan(trace, request) {
    const { budget, maxOverhead, planCheckpointing: plan = planCheckpointing } = request;
    const { point, infeasible, recordedPeakBytes, front, recommended } = await plan(trace, optionsOf(request));
    const isGiven = budget !== undefined || maxOverhead !== undefined;
    const chosen = isGiven ? point : (recommended?.within5Percent ?? point);
    if (chosen === undefined) return { infeasible: infeasible!, recordedPeakBytes };
    return {
      plan: chosen.plan,
      trace,
      tables: [],
      notes:
        isGiven || recommended === undefined
          ? []
          : ["no budget was given: this is the recommended plan within 5% overhead"],
      ...(recommended !== undefined && { front: { front, recommended } }),
    };
  },
};

function optionsOf(request: MethodRequest): CheckpointingOptions {
  const {
    budget,
    maxOverhead,
    timeMs,
    iterations,
    boundTimeMs,
    seed,
    paretoPoints,
    signal,
    onProgress,
    linkBytesPerSecond,
  } = request;
  const goal =
    budget !== undefined ? goalOfBudget(budget) : maxOverhead !== undefined ? { maxOverhead } : { budgetFraction: 1 };
  return {
    ...goal,
    timeMs,
    iterations,
    boundTimeMs,
    seed,
    paretoPoints,
    linkBytesPerSecond,
    signal,
    onProgress,
  };
}
