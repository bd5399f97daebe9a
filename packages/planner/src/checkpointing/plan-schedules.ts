import { defaultTimeMs } from "../default-time-ms.js";
import { type PlanningGraph, withoutLink } from "../graph/planning-graph.js";
import type { Rematerialization, RematerializeOptions } from "../rematerialize.js";
import { type CheckpointingGoal, checkGoal } from "./checkpointing-goal.js";
import { ScheduleFront } from "./schedule-front.js";
import { SharedEffort } from "./search-effort.js";
import { runInTurn, type SearchRunner } from "./search-runner.js";

/** Options for {@link planSchedules}: a goal and limits of the search. */
export type ScheduleOptions = CheckpointingGoal &
  Omit<RematerializeOptions, "budgetBytes" | "maxOverhead" | "starts"> & {
    /**
     * Number of budgets to plan for, from the plain peak to the smallest feasible one. The default is 0: only the
     * requested goal.
     */
    readonly paretoPoints?: number | undefined;
    /** Number of searches with different seeds for the requested budget. The best result counts. Default: 1. */
    readonly searches?: number | undefined;
  };

/** A schedule, and the budget that it was searched for. */
export interface BudgetedSchedule {
  /** The budget in bytes. */
  readonly budgetBytes: number;
  readonly schedule: Rematerialization;
}

/** The result of {@link planSchedules}. */
export interface ScheduleAnswer {
  /** The best schedule for the goal, or undefined if none was found. */
  readonly point: BudgetedSchedule | undefined;
  /** True if it is proven that no schedule meets the budget. */
  readonly isProvenInfeasible: boolean;
  /** The schedule with the smallest peak found, at any cost. */
  readonly smallest: Rematerialization;
  /**
   * Schedules by decreasing budget. Their peaks decrease, and their overheads never decrease. Only with `paretoPoints`.
   */
  readonly front: readonly BudgetedSchedule[];
  /**
   * The smallest peaks found with no added cost, with at most 5% more cost, and with at most 20% more cost. Only with
   * `paretoPoints`.
   */
  readonly recommended:
    | {
        readonly noCost: BudgetedSchedule;
        readonly within5Percent: BudgetedSchedule;
        readonly within20Percent: BudgetedSchedule;
      }
    | undefined;
}

/**
 * Plans recomputation for any graph, as `planCheckpointing` does for a training step. Returns the schedule for a budget
 * or an overhead, and with `paretoPoints` the trade-off between memory and cost. A budget fraction refers to the peak
 * of running every node once in the given order.
 *
 * @throws RematError `BUDGET` unless exactly one goal is given, as a number in its range
 * @example
 * const { point, front } = await planSchedules(readGraphFile(file), { maxOverhead: 0.02, order: "free", paretoPoints: 10 });
 */
export async function planSchedules(graph: PlanningGraph, options: ScheduleOptions): Promise<ScheduleAnswer> {
  return findSchedules(graph, options, { runner: runInTurn(graph), began: performance.now(), reserveMs: 0 });
}

/** Effort of the additional searches for a front or an overhead, as multiples of a search for a budget. */
const weights = { smallest: 1, within: 1, bound: 0.15 };
const recommendedOverheads = [0.05, 0.2];

/** Finds schedules with a given runner of searches. @internal */
export async function findSchedules(
  graph: PlanningGraph,
  options: ScheduleOptions,
  { runner, began, reserveMs }: { readonly runner: SearchRunner; readonly began: number; readonly reserveMs: number },
): Promise<ScheduleAnswer> {
  checkGoal(options);
  const { paretoPoints = 0 } = options;
  const isByOverhead = "maxOverhead" in options && options.maxOverhead !== undefined;
  const search = (searched: PlanningGraph, limits: ScheduleOptions, known?: ScheduleFront) =>
    searchFront({ graph: searched, runner, began, reserveMs }, limits, known);
  let known: ScheduleFront | undefined;
  // Recomputation without offloading is searched first, so that a link never makes a plan more expensive.
  if (graph.transfers !== undefined)
    known = (await search(withoutLink(graph), { ...withHalfTheTime(options), canOffload: false })).front;
  const { front, budgets, budgetBytes } = await search(graph, options, known);

  const within = (overhead: number): BudgetedSchedule => {
    const schedule = front.smallestWithin(overhead);
    return { budgetBytes: schedule.peakBytes, schedule };
  };
  const cheapest = (bytes: number): BudgetedSchedule[] => {
    const schedule = front.cheapestWithin(bytes);
    return schedule === undefined ? [] : [{ budgetBytes: bytes, schedule }];
  };
  let [point] = isByOverhead ? [within(options.maxOverhead)] : cheapest(budgetBytes);
  if (isByOverhead) point = { ...point, schedule: await front.bound(point.schedule, weights.bound) };
  return {
    point,
    isProvenInfeasible: point === undefined && front.isProvenInfeasible(budgetBytes),
    smallest: front.smallest(),
    front: budgets.flatMap(cheapest),
    recommended:
      paretoPoints > 0 ? { noCost: within(0), within5Percent: within(0.05), within20Percent: within(0.2) } : undefined,
  };
}

/** Halves the time limit of a call that has no other limit. */
function withHalfTheTime(options: ScheduleOptions): ScheduleOptions {
  const { timeMs, iterations } = options;
  return iterations === undefined ? { ...options, timeMs: (timeMs ?? defaultTimeMs) / 2 } : options;
}

/** Runs all searches that the options require on one graph. */
async function searchFront(
  given: {
    readonly graph: PlanningGraph;
    readonly runner: SearchRunner;
    readonly began: number;
    readonly reserveMs: number;
  },
  options: ScheduleOptions,
  known: ScheduleFront | undefined,
): Promise<{ front: ScheduleFront; budgets: readonly number[]; budgetBytes: number }> {
  const { paretoPoints = 0 } = options;
  const isByOverhead = "maxOverhead" in options && options.maxOverhead !== undefined;
  const goalWeight = isByOverhead ? weights.within + weights.bound : 1;
  const frontWeight = paretoPoints > 0 ? paretoPoints + weights.within * recommendedOverheads.length : 0;
  const smallestWeight = paretoPoints > 0 ? weights.smallest : 0;
  const effort = new SharedEffort(options, goalWeight + frontWeight + smallestWeight, given.began, given.reserveMs);
  const front = await ScheduleFront.begin({ ...given, effort }, options);
  if (known !== undefined) front.learnFrom(known);
  const { plain } = front;

  let budgetBytes = Number.POSITIVE_INFINITY;
  if ("budgetBytes" in options && options.budgetBytes !== undefined) budgetBytes = options.budgetBytes;
  else if ("budgetFraction" in options && options.budgetFraction !== undefined)
    budgetBytes = options.budgetFraction * plain.peakBytes;
  if (!isByOverhead) await front.searchBest(budgetBytes, goalWeight, options.searches ?? 1);
  if (smallestWeight > 0) await front.searchSmallest(smallestWeight);
  const budgets = paretoPoints > 0 ? spread(plain.peakBytes, front.smallest().peakBytes, paretoPoints) : [];
  if (paretoPoints > 0) await front.searchEach(budgets, paretoPoints);
  if (paretoPoints > 0)
    for (const overhead of recommendedOverheads) await front.searchWithin(overhead, weights.within, 1);
  if (isByOverhead) await front.searchWithin(options.maxOverhead, weights.within, options.searches ?? 1);
  return { front, budgets, budgetBytes };
}

/** Returns equally spaced budgets, from the largest down to the smallest. */
function spread(largest: number, smallest: number, count: number): number[] {
  const range = largest - smallest;
  return Array.from({ length: count }, (_, i) =>
    i === count - 1 ? smallest : largest - (range * i) / Math.max(1, count - 1),
  );
}
