import { heldPeak } from "@remat/memory";
import { planOfTrace, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import type { Plan, Trace } from "@remat/trace";

/** Returns the plan without recomputation: every op runs once, everything is freed after its last use. */
export async function unrecomputedPlan(trace: Trace): Promise<Plan> {
  const graph = planningGraphOfTrace(trace);
  const budgetBytes = Math.max(1, heldPeak(trace).peakBytes);
  return planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes, iterations: 0, boundTimeMs: 0 }));
}
