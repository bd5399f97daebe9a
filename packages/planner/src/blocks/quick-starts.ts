import type { PlanningGraph } from "../graph/planning-graph.js";
import { simulateSchedule } from "../schedule/simulate-schedule.js";
import { freeUntilNextUse } from "./free-until-next-use.js";
import { periodicCheckpoints } from "./periodic-checkpoints.js";

/** Below this a search finds what there is without help. @internal */
export const helpedNodes = 400;

/**
 * Makes what a search of a large graph begins with, so that there is an answer before the search has hardly begun: schedules that take a few
 * passes over the graph. None for a small graph, or where the plain order is within the budget.
 *
 * @param deadline moment of `performance.now()` after which no more is tried where something is within the budget
 * @internal
 */
export function quickStarts(
  graph: PlanningGraph,
  budgetBytes: number,
  plainBytes: number,
  deadline: number,
): Int32Array[] {
  if (graph.nodeCount < helpedNodes || plainBytes <= budgetBytes) return [];
  const freed = freeUntilNextUse(graph, budgetBytes);
  const isEnough = performance.now() > deadline && simulateSchedule(graph, freed)!.peakBytes <= budgetBytes;
  const periodic = isEnough ? undefined : periodicCheckpoints(graph, budgetBytes, deadline);
  return periodic === undefined ? [freed] : [freed, periodic];
}
