import type { ThreadReport } from "@remat/program";
import { formatBytes, formatMs, formatPercent } from "@remat/reporting";

/** Says what was saved in a thread, and what it cost, or why the program could not go on. */
export function describeExecution({ thread, passes, problem, executed }: ThreadReport): string {
  const where = thread === 0 ? "" : ` in worker ${thread}`;
  if (problem !== undefined) return problem;
  if (executed === undefined)
    return `${passes} passes${where}, of which the end was not seen: the thread was ended from outside`;
  const { budgetBytes, stockPeakBytes, peakBytes, passesMs, recomputedMs, recomputedOps, plannedPasses } = executed;
  const held =
    stockPeakBytes === undefined
      ? ""
      : `, ${formatPercent(peakBytes / stockPeakBytes)} of stock's ${formatBytes(stockPeakBytes)}`;
  return [
    `peak ${formatBytes(peakBytes)}${held}${budgetBytes === undefined ? "" : ` within a budget of ${formatBytes(budgetBytes)}`}`,
    `${passes} passes${where}${plannedPasses === 0 ? "" : `, ${plannedPasses} of them as planned`}`,
    recomputedOps === 0
      ? "nothing recomputed"
      : `${(recomputedOps / passes).toFixed(1)} ops a pass recomputed, in ${formatMs(recomputedMs)} of ${formatMs(passesMs)} (${formatPercent(recomputedMs / passesMs)})`,
  ].join(" · ");
}
