import { heldPeak, holdPlan, tellsLifetimes } from "@remat/memory";
import { planMethods, planningGraphOfTrace } from "@remat/planner";
import { formatChosenPercent } from "@remat/reporting";
import { countReplayedOps, Phase, type Trace } from "@remat/trace";
import type { FrontPoint, Overlay, PlanFindings } from "../data/report-meta.js";

/** What planning gave: findings, or why there are none; and the timelines of the recommended plans. */
export interface FoundPlans {
  readonly findings: PlanFindings | undefined;
  readonly reason: string | undefined;
  readonly overlays: readonly (readonly [Overlay, Float64Array])[];
}

export interface FindPlansOptions {
  /** Milliseconds for all searches together; 0 for none. */
  readonly timeMs: number;
  /** Look at so many schedules instead of for a time: the same answer on every machine. */
  readonly iterations?: number;
  readonly onProgress?: () => void;
}

/** Larger steps take longer to set up than a report should take. */
const mostOps = 100_000;

/** Plans the whole step for several budgets, and follows the three plans that a reader should know of. */
export async function findPlans(trace: Trace, options: FindPlansOptions): Promise<FoundPlans> {
  const reason = whyNot(trace, options);
  if (reason !== undefined) return { findings: undefined, reason, overlays: [] };
  const { timeMs, iterations, onProgress } = options;
  const found = await planMethods[0].plan(trace, {
    budget: { fraction: 1 },
    paretoPoints: 6,
    boundTimeMs: 0,
    ...(iterations === undefined ? { timeMs } : { iterations }),
    ...(onProgress && { onProgress }),
  });
  const { front, recommended } = ("front" in found ? found.front : undefined) ?? {};
  if (front === undefined || recommended === undefined)
    return { findings: undefined, reason: "no plan was found", overlays: [] };
  const chosen = [
    [0, recommended.noCost],
    [0.05, recommended.within5Percent],
    [0.2, recommended.within20Percent],
  ] as const;
  const graph = planningGraphOfTrace(trace);
  const short = ({ peakBytes, stepMs, overhead }: FrontPoint): FrontPoint => ({ peakBytes, stepMs, overhead });
  return {
    findings: {
      recordedPeakBytes: heldPeak(trace).peakBytes,
      plainPeakBytes: recommended.noCost.plan.predicted.plain.peakBytes,
      front: front.map(short),
      recommended: chosen.map(([allowedOverhead, { plan, ...point }]) => ({
        allowedOverhead,
        ...short(point),
        gap: plan.predicted.gap,
      })),
    },
    reason: undefined,
    overlays: chosen.map(([allowed, { plan, peakBytes }]) => [
      {
        key: `plan-${allowed * 100}`,
        label: allowed === 0 ? "Plan at no cost" : `Plan at ≤ ${formatChosenPercent(allowed)}`,
        kind: "plan",
        peakBytes,
        note: "predicted: what the step holds when it follows the plan, op by op",
        isGiven: false,
      },
      holdPlan(trace, plan, graph).highestBytes,
    ]),
  };
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
