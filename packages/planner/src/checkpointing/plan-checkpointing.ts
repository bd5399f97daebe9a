import { opOccurrences, type Plan, RematError, row, type Trace } from "@remat/trace";
import { workingSet } from "../bound/working-set.js";
import {
  type PlanningGraphOfTraceOptions,
  planningGraphOfTrace,
  type TracePlanningGraph,
} from "../graph/planning-graph-of-trace.js";
import { planOfTrace } from "../plan/plan-of-trace.js";
import { recordedPeakBytes } from "../plan/recorded-peak.js";
import type { Rematerialization, RematerializeOptions } from "../rematerialize.js";
import { ScheduleFront, type SearchEffort } from "./schedule-front.js";

/** What is asked for: a budget in bytes, or as a fraction of the recorded peak, or how much longer the step may take, as a fraction. */
export type CheckpointingGoal =
  | { readonly budgetBytes: number }
  | { readonly budgetFraction: number }
  | { readonly maxOverhead: number };

export type CheckpointingOptions = CheckpointingGoal &
  PlanningGraphOfTraceOptions &
  Pick<RematerializeOptions, "timeMs" | "iterations" | "boundTimeMs" | "seed" | "signal" | "onProgress"> & {
    /** How many budgets to plan for, from the plain peak to the smallest feasible; 0, the default, for none besides the one asked for. */
    readonly paretoPoints?: number;
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

/** Why nothing meets a budget. */
export interface BindingOp {
  /** No plan holds less. */
  readonly lowerBoundBytes: number;
  /** The smallest peak found. */
  readonly smallestFoundBytes: number;
  /** The op that needs `lowerBoundBytes`, and what it reads and makes. */
  readonly op: number;
  readonly occurrence: string;
  readonly inputs: readonly { readonly name: string; readonly bytes: number }[];
  readonly outputs: readonly { readonly name: string; readonly bytes: number }[];
  /** Weights and other storages that are held all the time. */
  readonly heldBytes: number;
  /** What waits there for a later op and cannot be made again: gradients, random numbers, results. */
  readonly waitingBytes: number;
}

export interface CheckpointingAnswer {
  /** The peak of the trace as recorded, without any plan. */
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

const defaultTimeMs = 5000;

/**
 * Answers the question that brings people here: how to train this step in that much memory, or how little memory it takes for that much
 * more time. Plans the whole step, op by op, so that it finds by itself which modules to checkpoint, and which of their results to keep.
 *
 * @throws RematError `BUDGET` unless exactly one goal is given, as a number in its range; what `planningGraphOfTrace` throws
 * @example
 * const { point, infeasible } = await planCheckpointing(trace, { budgetFraction: 0.6 });
 * if (point) await fs.writeFile("plan.json", writePlan(point.plan));
 * else console.log(`${infeasible.occurrence} alone needs ${infeasible.lowerBoundBytes} bytes`);
 */
export async function planCheckpointing(trace: Trace, options: CheckpointingOptions): Promise<CheckpointingAnswer> {
  checkGoal(options);
  const { paretoPoints = 0, seed, signal, onProgress, boundTimeMs } = options;
  const graph = planningGraphOfTrace(trace, options);
  const recorded = recordedPeakBytes(trace);
  const front = new ScheduleFront(graph, {
    ...(seed !== undefined && { seed }),
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
    ...(boundTimeMs !== undefined && { boundTimeMs }),
  });
  const pointOf = (schedule: Rematerialization, budgetBytes: number): CheckpointingPoint => {
    const plan = planOfTrace(trace, graph, { ...schedule, budgetBytes });
    const { peakBytes, cost, overhead } = plan.predicted;
    return { budgetBytes, peakBytes, stepMs: cost, overhead, plan };
  };

  const isByBudget = !("maxOverhead" in options);
  // Narrowing to an overhead takes several searches, and so does a front.
  const narrowings = isByBudget ? 0 : 6;
  const effort = shared(options, (isByBudget ? 1 : narrowings + 2) + (paretoPoints > 0 ? paretoPoints + 4 : 0));
  let budgetBytes = Number.POSITIVE_INFINITY;
  let answer: Rematerialization | undefined;
  if (isByBudget) {
    budgetBytes = "budgetBytes" in options ? options.budgetBytes : options.budgetFraction * recorded;
    answer = await front.search(budgetBytes, effort);
  }
  if (paretoPoints > 0 || !isByBudget) {
    await front.searchSmallest(effort);
    await front.search(recorded, { iterations: 0, boundTimeMs: 0 });
  }
  const budgets = paretoPoints > 0 ? spread(front, paretoPoints) : [];
  for (const budget of budgets) if (signal?.aborted !== true) await front.search(budget, effort);
  if (paretoPoints > 0) for (const overhead of [0.05, 0.2]) await front.narrow(overhead, 1, effort);
  if ("maxOverhead" in options) {
    await front.narrow(options.maxOverhead, narrowings, effort);
    answer = front.smallestWithin(options.maxOverhead);
    const limitMs = boundTimeMs ?? effort.timeMs ?? 2000;
    if (answer !== undefined && limitMs > 0) answer = await front.bound(answer, limitMs);
    budgetBytes = answer?.peakBytes ?? budgetBytes;
  } else answer = front.cheapestWithin(budgetBytes);

  const within = (overhead: number) => {
    const schedule = front.smallestWithin(overhead)!;
    return pointOf(schedule, schedule.peakBytes);
  };
  return {
    recordedPeakBytes: recorded,
    point: answer && pointOf(answer, budgetBytes),
    infeasible: answer === undefined ? bindingOp(trace, graph, front.smallest()!) : undefined,
    front: budgets.flatMap((budget) => {
      const schedule = front.cheapestWithin(budget);
      return schedule === undefined ? [] : [pointOf(schedule, budget)];
    }),
    recommended:
      paretoPoints > 0 ? { noCost: within(0), within5Percent: within(0.05), within20Percent: within(0.2) } : undefined,
  };
}

function checkGoal(options: CheckpointingOptions): void {
  const given: Record<string, unknown> = { ...options };
  const goals = (["budgetBytes", "budgetFraction", "maxOverhead"] as const).flatMap((name) =>
    given[name] === undefined ? [] : [[name, given[name]] as const],
  );
  if (goals.length !== 1)
    throw new RematError(
      "BUDGET",
      `expected one of budgetBytes, budgetFraction and maxOverhead, found ${goals.map(([name]) => name).join(", ") || "none"}`,
    );
  const [[name, value]] = goals;
  const isInRange =
    typeof value === "number" && (name === "maxOverhead" ? value >= 0 : value > 0) && value < Number.POSITIVE_INFINITY;
  if (!isInRange || (name === "budgetFraction" && value > 1))
    throw new RematError(
      "BUDGET",
      `expected ${name} to be a number ${name === "maxOverhead" ? "from 0 up" : name === "budgetFraction" ? "above 0 and up to 1" : "above 0"}, found ${JSON.stringify(value)}`,
    );
}

function shared({ timeMs, iterations }: CheckpointingOptions, searches: number): SearchEffort {
  if (iterations !== undefined) return { iterations: Math.ceil(iterations / searches) };
  return { timeMs: (timeMs ?? defaultTimeMs) / searches };
}

/** Budgets at equal distances, from the plain peak down to the smallest found. */
function spread(front: ScheduleFront, count: number): number[] {
  const smallest = front.smallest()!;
  const range = smallest.plain.peakBytes - smallest.peakBytes;
  return Array.from({ length: count }, (_, i) =>
    i === count - 1 ? smallest.peakBytes : smallest.plain.peakBytes - (range * i) / Math.max(1, count - 1),
  );
}

function bindingOp(trace: Trace, graph: TracePlanningGraph, smallest: Rematerialization): BindingOp {
  const { bytes, node } = workingSet(graph, false);
  const op = Math.max(0, graph.opOfNode[node]);
  const names = opOccurrences(trace);
  const describe = (value: number) => {
    const maker = graph.opOfNode[graph.producer[value]];
    return { name: maker < 0 ? graph.nodeName(graph.producer[value]) : names[maker], bytes: graph.bytes[value] };
  };
  const bySize = (values: Int32Array) => [...values].map(describe).sort((a, b) => b.bytes - a.bytes);
  const inputs = bySize(row(graph.inputs, node));
  const outputs = bySize(row(graph.outputs, node));
  return {
    lowerBoundBytes: bytes,
    smallestFoundBytes: smallest.peakBytes,
    op,
    occurrence: names[op],
    inputs,
    outputs,
    heldBytes: graph.baseBytes,
    waitingBytes: [...inputs, ...outputs].reduce(
      (rest, value) => rest - value.bytes,
      bytes - graph.baseBytes - graph.workspaceBytes[node],
    ),
  };
}
