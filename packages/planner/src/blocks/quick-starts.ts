import type { PlanningGraph } from "../graph/planning-graph.js";
import { simulateSchedule } from "../schedule/simulate-schedule.js";
import { freeUntilNextUse } from "./free-until-next-use.js";
import { periodicCheckpoints } from "./periodic-checkpoints.js";

/** Graphs with fewer nodes need no quick schedules to start from. @internal */
export const helpedNodes = 400;

/**
 * Creates the schedules from which a search of a large graph starts, so that there is an answer before the search makes
 * progress. This takes a few passes over the graph. Returns no schedules for a small graph, or if the plain order is
 * within the budget.
 *
 * @param deadline the time (of `performance.now()`) after which no more schedules are tried if one is within the budget
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
