import { bytesOfBudget, heldPeak } from "@remat/memory";
import { describeCheckpointed, formatBytes, formatOverhead, formatPercent, timeFormat } from "@remat/reporting";
import { formatOccurrence, type Trace } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import type { ViewAnswer, ViewWork } from "../state/work.js";

export interface PlanStepOptions {
  readonly timeMs: number;
  /** Stops the search, which then returns its best result. */
  readonly signal: AbortSignal;
  /** Called with progress. */
  readonly answer: (progress: ViewAnswer) => void;
}

/** Plans a whole step for a share of its recorded peak, by the first planning method. */
export async function planWholeStep(
  { trace, planned = trace, budgetShare }: Extract<ViewWork, { kind: "planWholeStep" }>,
  { timeMs, signal, answer }: PlanStepOptions,
): Promise<ViewAnswer> {
  try {
    const { executorOf, torchCheckpointExecutor } = await import("@remat/planner/executors");
    const { planMethods } = await import("@remat/planner/methods");
    if (executorOf(trace) === torchCheckpointExecutor)
      return await planForTorch(trace, budgetShare, { timeMs, signal });
    const found = await planMethods[0].plan(planned, {
      // A share of the peak of the step as shown.
      budget: { bytes: bytesOfBudget({ fraction: budgetShare }, heldPeak(trace).peakBytes) },
      timeMs,
      signal,
      onProgress: ({ elapsedMs, iterations, cost, smallestPeakBytes }) => {
        const best =
          cost === undefined
            ? `smallest peak so far ${formatBytes(smallestPeakBytes)}`
            : `best step so far ${timeFormat(trace)(cost)}`;
        const text = `${(elapsedMs / 1000).toFixed(1)} s, ${iterations} iterations; ${best}`;
        answer({ kind: "stepProgress", trace, text });
      },
    });
    if (!("infeasible" in found)) return { kind: "stepPlanned", trace, plan: found.plan, reason: undefined };
    const { isProven, smallestFoundBytes, lowerBoundBytes, occurrence } = found.infeasible;
    const reason =
      `${isProven ? "Nothing fits" : "No plan was found within"} ${formatPercent(budgetShare)} of the peak. ` +
      `The smallest found needs ${formatBytes(smallestFoundBytes)}, ` +
      `and ${formatOccurrence(occurrence)} alone needs ${formatBytes(lowerBoundBytes)}.`;
    return { kind: "stepPlanned", trace, plan: undefined, reason };
  } catch (error) {
    return { kind: "stepPlanned", trace, plan: undefined, reason: (error as Error).message };
  }
}

/** For PyTorch, describes in words what `remat plan` would write, since PyTorch cannot follow a plan of ops. */
async function planForTorch(
  trace: Trace,
  budgetShare: number,
  effort: Pick<PlanStepOptions, "timeMs" | "signal">,
): Promise<ViewAnswer> {
  const { planTorchCheckpoints } = await import("@remat/planner/executors");
  const { found, least } = planTorchCheckpoints(trace, { ...effort, budget: { fraction: budgetShare } });
  const share = formatPercent(budgetShare);
  const told = ({ peakBytes, overhead }: typeof least): string =>
    `${formatBytes(peakBytes)} with ${formatOverhead(overhead)} more time`;
  const reason =
    found === undefined
      ? `No plan for torch.utils.checkpoint was found within ${share} of the peak. The smallest found needs ${told(least)}.`
      : `torch.utils.checkpoint on ${describeCheckpointed(found.policy)} needs ${told(found)}. ` +
        `${shell`remat plan --budget ${budgetShare} --pytorch-policy policy.json`} writes the policy.`;
  return { kind: "stepPlanned", trace, plan: undefined, reason };
}
