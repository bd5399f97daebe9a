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

/** Plans a whole step for a share of its recorded peak. */
export async function planStep(
  { trace, budgetShare }: Extract<ViewWork, { kind: "planStep" }>,
  { timeMs, signal, answer }: PlanStepOptions,
): Promise<ViewAnswer> {
  try {
    const { planCheckpointing } = await import("@remat/planner");
    const { point, infeasible } = await planCheckpointing(trace, {
      budgetFraction: budgetShare,
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
    const reason =
      infeasible &&
      `${infeasible.isProven ? "Nothing fits" : "Nothing was found within"} ${formatPercent(budgetShare)} of the peak. The smallest found is ${formatBytes(infeasible.smallestFoundBytes)}; ${formatOccurrence(infeasible.occurrence)} alone needs ${formatBytes(infeasible.lowerBoundBytes)}.`;
    return { kind: "stepPlanned", trace, point, reason };
  } catch (error) {
    return { kind: "stepPlanned", trace, point: undefined, reason: (error as Error).message };
  }
}
