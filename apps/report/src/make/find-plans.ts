import { heldPeak, sequenceOfPlan, tellsLifetimes } from "@remat/memory";
import { type CheckpointingPoint, type MethodRequest, planMethods, planningGraphOfTrace } from "@remat/planner";
import { planFates, planFrontier } from "@remat/reporting";
import { countReplayedOps, Phase, type Plan, type Trace } from "@remat/trace";
import type { FollowedColumns } from "../data/report-file.js";
import type { FollowedPlan, PlanFindings } from "../data/report-meta.js";

/** What planning gave: findings, or why there are none; and by point of the front what the page follows it by. */
export interface FoundPlans {
  readonly findings: PlanFindings | undefined;
  readonly reason: string | undefined;
  readonly followed: readonly FollowedColumns[];
}

export interface FindPlansOptions {
  /** Milliseconds for all searches together; 0 for none. */
  readonly timeMs: number;
  /** Look at so many schedules instead of for a time: the same answer on every machine. */
  readonly iterations?: number;
  /** Searches in another way than one after the other. */
  readonly planCheckpointing?: MethodRequest["planCheckpointing"];
  readonly onProgress?: () => void;
}

/** Larger steps take longer to set up than a report should take. */
const mostOps = 100_000;
/** Budgets that are planned for. */
const frontPoints = 24;

/** Plans the whole step for several budgets, and finds the three plans that a reader should know of. */
export async function findPlans(trace: Trace, options: FindPlansOptions): Promise<FoundPlans> {
  const reason = whyNot(trace, options);
  if (reason !== undefined) return { findings: undefined, reason, followed: [] };
  const { timeMs, iterations, onProgress, planCheckpointing } = options;
  const found = await planMethods[0].plan(trace, {
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
  const chosen = [
    [0, recommended.noCost],
    [0.05, recommended.within5Percent],
    [0.2, recommended.within20Percent],
  ] as const;
  const all = [...front, ...Object.values(recommended)].map(withGap);
  const kept = planFrontier(all);
  const graph = planningGraphOfTrace(trace);
  return {
    findings: {
      recordedPeakBytes,
      plainPeakBytes: recommended.noCost.plan.predicted.plain.peakBytes,
      front: kept.map((point) => ({ ...followedPlan("", point.plan), gap: point.gap })),
      // What holds no less than the step as it is recommends itself to nobody.
      recommended: chosen
        .filter(([, { peakBytes }]) => peakBytes < recordedPeakBytes)
        // Nor what is the same plan for more time.
        .filter(([, { peakBytes }], i, all) => i === 0 || peakBytes < all[i - 1][1].peakBytes)
        .map(([allowedOverhead, { plan, peakBytes, stepMs, overhead }]) => ({
          allowedOverhead,
          peakBytes,
          stepMs,
          overhead,
          gap: plan.predicted.gap,
        })),
    },
    reason: undefined,
    followed: kept.map(({ plan }) => ({
      sequence: sequenceOfPlan(plan, graph).nodes,
      fates: planFates(trace, plan),
    })),
  };
}

function withGap(point: CheckpointingPoint): CheckpointingPoint & { readonly gap: number } {
  return { ...point, gap: point.plan.predicted.gap };
}

/** Returns what is told of a plan that the page follows. */
export function followedPlan(name: string, { predicted, steps }: Plan): FollowedPlan {
  const { peakBytes, cost, overhead, gap } = predicted;
  const recomputations = steps.filter(({ isRecomputed }) => isRecomputed).length;
  return { name, peakBytes, stepMs: cost, overhead, gap, recomputations };
}

function whyNot(trace: Trace, { timeMs, iterations }: FindPlansOptions): string | undefined {
  if (timeMs === 0 && iterations === undefined) return "planning was switched off (--time 0)";
  if (trace.truncated !== undefined) return "the trace breaks off, so that the end of the step is not known";
  if (trace.header.step?.predict === true)
    return "the model as it is used has no backward pass, so that nothing is kept for one and nothing could be recomputed";
  if (!trace.hasPhase(Phase.backward)) return "the trace has no backward pass";
  if (countReplayedOps(trace) > 0)
    return "the step recomputes by itself what was checkpointed by hand; use remat plan, which takes it without";
  if (!tellsLifetimes(trace)) return "the trace says nothing about lifetimes";
  if (!trace.ops.runtimeMs.some((ms) => ms > 0)) return "its ops have no times";
  if (trace.ops.count > mostOps)
    return `${trace.ops.count} ops are more than are planned for a report (${mostOps}); use remat plan`;
  return undefined;
}
