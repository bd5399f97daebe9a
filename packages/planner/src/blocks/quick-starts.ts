import type { PlanningGraph } from "../graph/planning-graph.js";
import type { LoweringLimits } from "../schedule/lowered-budget.js";
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

/** Number of budgets to try on the way to a cost, and how many of them are tried even after the deadline. */
const halvings = { most: 11, least: 4 };

/**
 * Creates the schedule from which a search for the smallest peak within a cost starts: that with the smallest peak
 * among quick schedules of at most this cost. It bisects the budgets of these schedules. Returns no schedule if none
 * has a smaller peak than the plain order.
 *
 * @param deadline the time (of `performance.now()`) after which few budgets are tried
 * @param startsFor returns more schedules for a budget
 * @internal
 */
export function quickStartsWithin(
  graph: PlanningGraph,
  { mostCost, leastBytes }: LoweringLimits,
  plainBytes: number,
  deadline: number,
  startsFor: (budgetBytes: number) => readonly Int32Array[] = () => [],
): Int32Array[] {
  let best: Int32Array | undefined;
  let [tooSmall, enough] = [leastBytes, plainBytes];
  const tryOut = (sequences: readonly Int32Array[]): void => {
    for (const sequence of sequences) {
      const { cost, peakBytes } = simulateSchedule(graph, sequence)!;
      if (cost > mostCost || peakBytes >= enough) continue;
      best = sequence;
      enough = peakBytes;
    }
  };
  const isLate = () => performance.now() > deadline;
  for (let i = 0; i < halvings.most && (i < halvings.least || !isLate()) && tooSmall < enough; i++) {
    const budgetBytes = (tooSmall + enough) / 2;
    // With a deadline that is over, only the quickest of the quick schedules are created.
    tryOut([...quickStarts(graph, budgetBytes, plainBytes, 0), ...startsFor(budgetBytes)]);
    if (enough > budgetBytes) tooSmall = budgetBytes;
  }
  if (!isLate()) tryOut(quickStarts(graph, tooSmall, plainBytes, deadline));
  return best === undefined ? [] : [best];
}
