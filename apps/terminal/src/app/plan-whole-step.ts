import { formatBytes, formatMs, formatPercent } from "@remat/reporting";
import { formatOccurrence } from "@remat/trace";
import type { ViewAnswer, ViewWork } from "../state/work.js";

export interface PlanStepOptions {
  readonly timeMs: number;
  /** Stops the search, which then answers with the best that it has. */
  readonly signal: AbortSignal;
  /** Told how far it has come. */
  readonly answer: (progress: ViewAnswer) => void;
}

/** Plans a whole step for a share of its recorded peak, by the first of the planning methods. */
export async function planWholeStep(
  { trace, budgetShare }: Extract<ViewWork, { kind: "planWholeStep" }>,
  { timeMs, signal, answer }: PlanStepOptions,
): Promise<ViewAnswer> {
  try {
    const { planMethods } = await import("@remat/planner");
    const found = await planMethods[0].plan(trace, {
      budget: { fraction: budgetShare },
      timeMs,
      signal,
      onProgress: ({ elapsedMs, iterations, cost, smallestPeakBytes }) => {
        const best =
          cost === undefined
            ? `smallest peak so far ${formatBytes(smallestPeakBytes)}`
            : `best step so far ${formatMs(cost)}`;
        const text = `${(elapsedMs / 1000).toFixed(1)} s, ${iterations} changes tried; ${best}`;
        answer({ kind: "stepProgress", trace, text });
      },
    });
    if (!("infeasible" in found)) return { kind: "stepPlanned", trace, plan: found.plan, reason: undefined };
    const { isProven, smallestFoundBytes, lowerBoundBytes, occurrence } = found.infeasible;
    const reason = `${isProven ? "Nothing fits" : "Nothing was found within"} ${formatPercent(budgetShare)} of the peak. The smallest found is ${formatBytes(smallestFoundBytes)}; ${formatOccurrence(occurrence)} alone needs ${formatBytes(lowerBoundBytes)}.`;
    return { kind: "stepPlanned", trace, plan: undefined, reason };
  } catch (error) {
    return { kind: "stepPlanned", trace, plan: undefined, reason: (error as Error).message };
  }
}
