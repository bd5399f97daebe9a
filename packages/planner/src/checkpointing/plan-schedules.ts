import { defaultTimeMs } from "../default-time-ms.js";
import { type PlanningGraph, withoutLink } from "../graph/planning-graph.js";
import type { Rematerialization, RematerializeOptions } from "../rematerialize.js";
import { type CheckpointingGoal, checkGoal } from "./checkpointing-goal.js";
import { ScheduleFront } from "./schedule-front.js";
import { SharedEffort } from "./search-effort.js";
import { runInTurn, type SearchRunner } from "./search-runner.js";

export type ScheduleOptions = CheckpointingGoal &
  Omit<RematerializeOptions, "budgetBytes" | "starts"> & {
    /** How many budgets to plan for, from the plain peak to the smallest feasible; 0, the default, for none besides the one asked for. */
    readonly paretoPoints?: number | undefined;
    /** How many searches, each with a seed of its own, look for the budget asked for: 1 if left out. The best counts. */
    readonly searches?: number | undefined;
  };

/** A schedule, and what it was sought for. */
export interface BudgetedSchedule {
  readonly budgetBytes: number;
  readonly schedule: Rematerialization;
}

export interface ScheduleAnswer {
  /** The best schedule for what was asked; undefined where nothing was found that meets it. */
  readonly point: BudgetedSchedule | undefined;
  /** Proven that nothing meets the budget. */
  readonly isProvenInfeasible: boolean;
  /** The smallest peak found, whatever it costs. */
  readonly smallest: Rematerialization;
  /** By falling budget; peaks and overheads never cross. Only with `paretoPoints`. */
  readonly front: readonly BudgetedSchedule[];
  /** The smallest peaks found that cost nothing, at most 5 %, at most 20 % more. Only with `paretoPoints`. */
  readonly recommended:
    | {
        readonly noCost: BudgetedSchedule;
        readonly within5Percent: BudgetedSchedule;
        readonly within20Percent: BudgetedSchedule;
      }
    | undefined;
}

/**
 * Returns what `planCheckpointing` is for a training step, for any graph: the schedule for a budget or for an overhead, and on request the front
 * between memory and cost. A fraction is of the peak of running every node once in the given order.
 *
 * @throws RematError `BUDGET` unless exactly one goal is given, as a number in its range
 * @example
 * const { point, front } = await planSchedules(readGraphFile(file), { maxOverhead: 0.02, order: "free", paretoPoints: 10 });
 */
export async function planSchedules(graph: PlanningGraph, options: ScheduleOptions): Promise<ScheduleAnswer> {
  return findSchedules(graph, options, { runner: runInTurn(graph), began: performance.now(), reserveMs: 0 });
}

/** What a front adds to the search for a goal, and an overhead to that for a budget, as multiples of it. */
const weights = { smallest: 1, narrowing: 1, bound: 1 };
/** Searches that narrow down to an overhead. */
const narrowings = 6;
const recommendedOverheads = [0.05, 0.2];

/** @internal */
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
  // What recomputing alone comes to is found first, so that a link never makes a plan dearer.
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

/** Of a call that is limited by time alone. */
function withHalfTheTime(options: ScheduleOptions): ScheduleOptions {
  const { timeMs, iterations } = options;
  return iterations === undefined ? { ...options, timeMs: (timeMs ?? defaultTimeMs) / 2 } : options;
}

/** Makes all searches that the options ask for on one graph. */
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
  const goalWeight = isByOverhead ? weights.narrowing * narrowings + weights.bound : 1;
  const frontWeight = paretoPoints > 0 ? paretoPoints + weights.narrowing * recommendedOverheads.length : 0;
  const smallestWeight = isByOverhead || paretoPoints > 0 ? weights.smallest : 0;
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
  if (paretoPoints > 0) for (const overhead of recommendedOverheads) await front.narrow(overhead, 1, weights.narrowing);
  if (isByOverhead) await front.narrow(options.maxOverhead, narrowings, weights.narrowing * narrowings);
  return { front, budgets, budgetBytes };
}

/** Budgets at equal distances, from the largest down to the smallest. */
function spread(largest: number, smallest: number, count: number): number[] {
  const range = largest - smallest;
  return Array.from({ length: count }, (_, i) =>
    i === count - 1 ? smallest : largest - (range * i) / Math.max(1, count - 1),
  );
}
