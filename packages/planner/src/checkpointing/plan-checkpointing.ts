import { heldPeak } from "@remat/memory";
import type { Plan, Trace } from "@remat/trace";
import { defaultTimeMs } from "../default-time-ms.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { type PlanningGraphOfTraceOptions, planningGraphOfTrace } from "../graph/planning-graph-of-trace.js";
import { plansOfTrace } from "../plan/plan-of-trace.js";
import type { RematerializeOptions } from "../rematerialize.js";
import { type BindingOp, bindingOp } from "./binding-op.js";
import { type CheckpointingGoal, checkGoal } from "./checkpointing-goal.js";
import { type BudgetedSchedule, findSchedules, type ScheduleOptions } from "./plan-schedules.js";
import { runInTurn, type SearchRunner } from "./search-runner.js";

/**
 * Options for {@link planCheckpointing}: a goal, limits of the search, and the ops that may be recomputed or offloaded.
 */
export type CheckpointingOptions = CheckpointingGoal &
  PlanningGraphOfTraceOptions &
  Pick<RematerializeOptions, "timeMs" | "iterations" | "boundTimeMs" | "seed" | "signal" | "onProgress"> & {
    /**
     * Number of budgets to plan for, from the plain peak to the smallest feasible one. The default is 0: only the
     * requested goal.
     */
    readonly paretoPoints?: number | undefined;
    /** Number of searches with different seeds for the requested budget. The best result counts. Default: 1. */
    readonly searches?: number | undefined;
  };

/** One choice between memory and time. */
export interface CheckpointingPoint {
  /** The budget that was planned for, in bytes. */
  readonly budgetBytes: number;
  /** Peak memory under the plan, in bytes. */
  readonly peakBytes: number;
  /** Time of the step under the plan, in milliseconds. */
  readonly stepMs: number;
  /** Added time as a fraction of the time of running every op once. */
  readonly overhead: number;
  readonly plan: Plan;
}

/** The result of {@link planCheckpointing}. */
export interface CheckpointingAnswer {
  /** Peak memory of the trace's device as recorded, without a plan, in bytes: `heldPeak` of `@remat/memory`. */
  readonly recordedPeakBytes: number;
  /** The best plan for the goal, or undefined if none was found. */
  readonly point: CheckpointingPoint | undefined;
  /** The reason why no plan was found, or undefined if one was found. */
  readonly infeasible: BindingOp | undefined;
  /** Plans by decreasing budget. Their peaks decrease, and their overheads never decrease. Only with `paretoPoints`. */
  readonly front: readonly CheckpointingPoint[];
  /**
   * The smallest peaks found with no slowdown, with at most 5% more time, and with at most 20% more time. Only with
   * `paretoPoints`.
   */
  readonly recommended:
    | {
        readonly noCost: CheckpointingPoint;
        readonly within5Percent: CheckpointingPoint;
        readonly within20Percent: CheckpointingPoint;
      }
    | undefined;
}

/**
 * Plans recomputation for a training step: for a given amount of memory, or for the least memory at a given slowdown.
 * It plans the whole step op by op, so it also finds which modules to checkpoint and which of their results to keep.
 *
 * @throws RematError `BUDGET` unless exactly one goal is given, as a number in its range, and the errors of
 * `planningGraphOfTrace`
 * @example
 * const { point, infeasible } = await planCheckpointing(trace, { budgetFraction: 0.6 });
 * if (point) await fs.writeFile("plan.json", writePlan(point.plan));
 * else console.log(`${formatOccurrence(infeasible.occurrence)} alone needs ${infeasible.lowerBoundBytes} bytes`);
 */
export async function planCheckpointing(trace: Trace, options: CheckpointingOptions): Promise<CheckpointingAnswer> {
  return findPlans(trace, options, async (graph, find) => find(runInTurn(graph)));
}

/** Creates a runner for searches on a graph, and closes it after use. @internal */
export type WithRunner = <T>(graph: PlanningGraph, use: (runner: SearchRunner) => Promise<T>) => Promise<T>;

/** Finds plans with a given runner of searches. @internal */
export async function findPlans(
  trace: Trace,
  options: CheckpointingOptions,
  withRunner: WithRunner,
): Promise<CheckpointingAnswer> {
  const began = performance.now();
  checkGoal(options);
  const graph = planningGraphOfTrace(trace, options);
  const recorded = heldPeak(trace).peakBytes;
  // Writing the first plan takes about as long as reading the trace, and each further plan a tenth of that.
  const plans = 1 + (options.paretoPoints ?? 0) + (options.paretoPoints ? 3 : 0);
  const writingMs = (1 + 0.1 * plans) * (performance.now() - began);
  const reserveMs = Math.min(0.2 * (options.timeMs ?? defaultTimeMs), writingMs);
  const { isReplayable: _isReplayable, sequenceGraph: _sequenceGraph, linkBytesPerSecond, ...rest } = options;
  const goal: ScheduleOptions =
    "budgetFraction" in rest && rest.budgetFraction !== undefined
      ? { ...rest, budgetFraction: undefined, budgetBytes: Math.max(1, Math.floor(rest.budgetFraction * recorded)) }
      : rest;
  const found = await withRunner(graph, (runner) => findSchedules(graph, goal, { runner, began, reserveMs }));
  const { point, front, recommended, smallest, isProvenInfeasible: isProven } = found;
  let write: ReturnType<typeof plansOfTrace> | undefined;
  const pointOf = ({ schedule, budgetBytes }: BudgetedSchedule): CheckpointingPoint => {
    write ??= plansOfTrace(trace, graph);
    const planned = write({ ...schedule, budgetBytes });
    const plan = linkBytesPerSecond === undefined ? planned : withLinkOrigin(planned, linkBytesPerSecond);
    const { peakBytes, cost, overhead } = plan.predicted;
    return { budgetBytes, peakBytes, stepMs: cost, overhead, plan };
  };
  return {
    recordedPeakBytes: recorded,
    point: point && pointOf(point),
    infeasible:
      point === undefined ? bindingOp(trace, graph, { smallestFoundBytes: smallest.peakBytes, isProven }) : undefined,
    front: front.map(pointOf),
    recommended: recommended && {
      noCost: pointOf(recommended.noCost),
      within5Percent: pointOf(recommended.within5Percent),
      within20Percent: pointOf(recommended.within20Percent),
    },
  };
}

function withLinkOrigin(plan: Plan, linkBytesPerSecond: number): Plan {
  return { ...plan, origin: { ...plan.origin, linkBytesPerSecond } };
}
