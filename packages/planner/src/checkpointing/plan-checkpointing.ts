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

export type CheckpointingOptions = CheckpointingGoal &
  PlanningGraphOfTraceOptions &
  Pick<RematerializeOptions, "timeMs" | "iterations" | "boundTimeMs" | "seed" | "signal" | "onProgress"> & {
    /** How many budgets to plan for, from the plain peak to the smallest feasible; 0, the default, for none besides the one asked for. */
    readonly paretoPoints?: number | undefined;
    /** How many searches, each with a seed of its own, look for the budget asked for: 1 if left out. The best counts. */
    readonly searches?: number | undefined;
  };

/** One choice between memory and time. */
export interface CheckpointingPoint {
  /** What was aimed at. */
  readonly budgetBytes: number;
  readonly peakBytes: number;
  readonly stepMs: number;
  /** Time beyond that of running every op once, as a fraction of it. */
  readonly overhead: number;
  readonly plan: Plan;
}

export interface CheckpointingAnswer {
  /** The most that the trace's device held as recorded, without any plan: `heldPeak` of `@remat/memory`. */
  readonly recordedPeakBytes: number;
  /** The best plan for what was asked; undefined where nothing was found that meets it. */
  readonly point: CheckpointingPoint | undefined;
  readonly infeasible: BindingOp | undefined;
  /** By falling budget; peaks and overheads never cross. Only with `paretoPoints`. */
  readonly front: readonly CheckpointingPoint[];
  /** The smallest peaks found that cost nothing, at most 5 %, at most 20 % more time. Only with `paretoPoints`. */
  readonly recommended:
    | {
        readonly noCost: CheckpointingPoint;
        readonly within5Percent: CheckpointingPoint;
        readonly within20Percent: CheckpointingPoint;
      }
    | undefined;
}

/**
 * Answers the question that brings people here: how to train this step in that much memory, or how little memory it takes for that much
 * more time. Plans the whole step, op by op, so that it finds by itself which modules to checkpoint, and which of their results to keep.
 *
 * @throws RematError `BUDGET` unless exactly one goal is given, as a number in its range; what `planningGraphOfTrace` throws
 * @example
 * const { point, infeasible } = await planCheckpointing(trace, { budgetFraction: 0.6 });
 * if (point) await fs.writeFile("plan.json", writePlan(point.plan));
 * else console.log(`${formatOccurrence(infeasible.occurrence)} alone needs ${infeasible.lowerBoundBytes} bytes`);
 */
export async function planCheckpointing(trace: Trace, options: CheckpointingOptions): Promise<CheckpointingAnswer> {
  return findPlans(trace, options, async (graph, find) => find(runInTurn(graph)));
}

/** Makes a runner of searches on a graph, and closes it when what it is for is done. @internal */
export type WithRunner = <T>(graph: PlanningGraph, use: (runner: SearchRunner) => Promise<T>) => Promise<T>;

/** @internal */
export async function findPlans(
  trace: Trace,
  options: CheckpointingOptions,
  withRunner: WithRunner,
): Promise<CheckpointingAnswer> {
  const began = performance.now();
  checkGoal(options);
  const graph = planningGraphOfTrace(trace, options);
  const recorded = heldPeak(trace).peakBytes;
  // To write the first plan takes about as long as to read the trace, to write another a tenth of that.
  const plans = 1 + (options.paretoPoints ?? 0) + (options.paretoPoints ? 3 : 0);
  const writingMs = (1 + 0.1 * plans) * (performance.now() - began);
  const reserveMs = Math.min(0.2 * (options.timeMs ?? defaultTimeMs), writingMs);
  const { isReplayable: _isReplayable, linkBytesPerSecond, ...rest } = options;
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
