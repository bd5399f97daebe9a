import { heldPeak, tellsLifetimes } from "@remat/memory";
import { sequenceOfPlan } from "@remat/memory/sequence";
import { type CheckpointingPoint } from "@remat/planner";
import { executorOf, type TorchFrontPoint, torchCheckpointExecutor, torchFront } from "@remat/planner/executors";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { type MethodRequest, planMethods } from "@remat/planner/methods";
import { checkpointFates, type PlanChoice, planFates, planFrontier } from "@remat/reporting";
import { countReplayedOps, Phase, type Plan, RematError, type Trace } from "@remat/trace";
import type { FollowedColumns } from "../data/report-file.js";
import type { FollowedPlan, PlanFindings } from "../data/report-meta.js";

/** Result of planning: findings, or why there are none, and columns for each point of the front. */
export interface FoundPlans {
  readonly findings: PlanFindings | undefined;
  readonly reason: string | undefined;
  readonly followed: readonly FollowedColumns[];
}

export interface FindPlansOptions {
  /** Time limit for all searches together in milliseconds, or 0 for none. */
  readonly timeMs: number;
  /** Number of schedules to evaluate instead of a time limit: gives the same answer on every machine. */
  readonly iterations?: number | undefined;
  /** The step that plans are made for, if its ops differ. */
  readonly planned?: Trace | undefined;
  /** Replaces the sequential search. */
  readonly planCheckpointing?: MethodRequest["planCheckpointing"] | undefined;
  readonly onProgress?: () => void;
}

/** Setting up the search for larger steps takes longer than a report should. */
const mostOps = 100_000;
/** Number of budgets to plan for. */
const frontPoints = 24;

/** Plans the whole step for several budgets, and selects the three recommended plans. */
export async function findPlans(trace: Trace, options: FindPlansOptions): Promise<FoundPlans> {
  const reason = whyNot(trace, options);
  if (reason !== undefined) return { findings: undefined, reason, followed: [] };
  if (executorOf(trace) === torchCheckpointExecutor) return findTorchPlans(trace, options);
  const { timeMs, iterations, onProgress, planCheckpointing, planned } = options;
  const found = await planMethods[0].plan(planned ?? trace, {
    budget: { fraction: 1 },
    paretoPoints: frontPoints,
    boundTimeMs: 0,
    ...(iterations === undefined ? { timeMs } : { iterations }),
    ...(planCheckpointing && { planCheckpointing }),
    ...(onProgress && { onProgress }),
  });
  const { front, recommended } = ("front" in found ? found.front : undefined) ?? {};
  if (front === undefined || recommended === undefined)
    return { findings: undefined, reason: "no plan was found", followed: [] };
  const recordedPeakBytes = heldPeak(trace).peakBytes;
  const chosen = [recommended.noCost, recommended.within5Percent, recommended.within20Percent];
  const all = [...front, ...Object.values(recommended)].map(withGap);
  const kept = planFrontier(all);
  return {
    findings: {
      isForTorch: false,
      recordedPeakBytes,
      plainPeakBytes: recommended.noCost.plan.predicted.plain.peakBytes,
      front: kept.map((point) => ({ ...followedPlan("", point.plan), gap: point.gap })),
      recommended: recommendedOf(chosen.map(withGap), recordedPeakBytes),
    },
    reason: undefined,
    followed: columnsOf(planned ?? trace, kept),
  };
}

function columnsOf(trace: Trace, points: readonly CheckpointingPoint[]): readonly FollowedColumns[] {
  const graph = planningGraphOfTrace(trace);
  return points.map(({ plan }) => ({
    sequence: sequenceOfPlan(plan, graph).nodes,
    fates: planFates(trace, plan),
  }));
}

/** Allowed overheads of the recommended plans: none, a little, more. */
const allowedOverheads = [0, 0.05, 0.2] as const;

/** The useful plan for each allowed overhead. */
function recommendedOf(
  points: readonly (PlanChoice | undefined)[],
  recordedPeakBytes: number,
): PlanFindings["recommended"] {
  const told: PlanFindings["recommended"][number][] = [];
  for (const [i, point] of points.entries()) {
    // Skips a plan that saves no memory, or no more than the plan for a smaller overhead.
    if (point === undefined || point.peakBytes >= (told.at(-1)?.peakBytes ?? recordedPeakBytes)) continue;
    const { peakBytes, stepMs, overhead, gap } = point;
    told.push({ allowedOverhead: allowedOverheads[i], peakBytes, stepMs, overhead, gap });
  }
  return told;
}

/** Searches for policies for PyTorch, as `remat plan` does. */
function findTorchPlans(trace: Trace, { timeMs, iterations }: FindPlansOptions): FoundPlans {
  let front: readonly TorchFrontPoint[];
  try {
    const effort = iterations === undefined ? { timeMs } : { rounds: Math.ceil(iterations / 100), now: () => 0 };
    front = torchFront(trace, { points: frontPoints, ...effort });
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return { findings: undefined, reason: error.message, followed: [] };
  }
  const recordedPeakBytes = heldPeak(trace).peakBytes;
  const kept = planFrontier(front.map((point) => ({ ...point, gap: undefined })));
  return {
    findings: {
      isForTorch: true,
      recordedPeakBytes,
      plainPeakBytes: recordedPeakBytes,
      front: kept.map(({ policy, peakBytes, stepMs, overhead, gap, recomputations }) => ({
        ...{ name: "", policy, peakBytes, stepMs, overhead, gap },
        recomputations: recomputations.reduce((sum, times) => sum + times, 0),
      })),
      recommended: recommendedOf(
        allowedOverheads.map((share) => kept.findLast(({ overhead }) => overhead <= share)),
        recordedPeakBytes,
      ),
    },
    reason: undefined,
    followed: kept.map(({ recomputations }) => ({
      sequence: new Int32Array(0),
      fates: checkpointFates(trace, recomputations),
    })),
  };
}

function withGap(point: CheckpointingPoint): CheckpointingPoint & { readonly gap: number } {
  return { ...point, gap: point.plan.predicted.gap };
}

/** Returns the facts about a plan that the page shows. */
export function followedPlan(name: string, { predicted, steps }: Plan): FollowedPlan {
  const { peakBytes, cost, overhead, gap } = predicted;
  const recomputations = steps.filter(({ isRecomputed }) => isRecomputed).length;
  return { name, peakBytes, stepMs: cost, overhead, gap, recomputations };
}

function whyNot(trace: Trace, { timeMs, iterations }: FindPlansOptions): string | undefined {
  if (timeMs === 0 && iterations === undefined) return "planning was disabled (--time 0)";
  if (trace.truncated !== undefined) return "the trace is incomplete or damaged, so the end of the step is unknown";
  if (trace.header.step?.predict === true) return "inference has no backward pass, so nothing is saved for one";
  if (!trace.hasPhase(Phase.backward)) return "the trace has no backward pass";
  if (countReplayedOps(trace) > 0)
    return "the step already uses manual activation checkpointing; use remat plan, which ignores it";
  if (!tellsLifetimes(trace)) return "the trace does not record when storages are freed";
  if (!trace.ops.runtimeMs.some((ms) => ms > 0)) return "its ops have no times";
  if (trace.ops.count > mostOps)
    return `the trace has ${trace.ops.count} ops, and a report plans at most ${mostOps}; use remat plan`;
  return undefined;
}
