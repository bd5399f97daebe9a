import type { ExecutedPasses, ThreadReport } from "@remat/program";
import { type Facts, formatBytes, formatMs, formatPercent } from "@remat/reporting";
import type { DeviceSpec } from "@remat/trace";

/** Where a program has run, and what is typed to know more of it. */
export interface ExecutionPlace {
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly command?: string | undefined;
}

/** Returns what was saved in a thread, what it cost, and what to type next, or why the program could not go on. */
export function describeExecution(
  { thread, passes, problem, executed }: ThreadReport,
  { device, command }: ExecutionPlace,
): Facts {
  const where = thread === 0 ? "" : ` in worker ${thread}`;
  if (problem !== undefined) return describeProblem(problem, executed, command);
  if (executed === undefined)
    return { facts: [`${passes} passes${where}, of which the end was not seen: the thread was ended from outside`] };
  const { passesMs, recomputedMs, recomputedOps, plannedPasses } = executed;
  const facts = [
    ...describeHeld(executed, device),
    `${passes} ${passes === 1 ? "pass" : "passes"}${where}${plannedPasses === 0 ? "" : `, ${plannedPasses} of them as planned`}`,
    recomputedOps === 0
      ? "nothing recomputed"
      : `${(recomputedOps / passes).toFixed(1)} ops a pass recomputed, in ${formatMs(recomputedMs)} of ${formatMs(passesMs)} (${formatPercent(recomputedMs / passesMs)})`,
    ...(command === undefined ? [] : [command]),
  ];
  return { facts, command };
}

/** Of a budget that was refused also what stock holds, and where to see what that is. */
function describeProblem(problem: string, executed: ExecutedPasses | undefined, command: string | undefined): Facts {
  const { budgetBytes, stockPeakBytes } = executed ?? {};
  if (budgetBytes === undefined || command === undefined) return { facts: [problem] };
  const stock = stockPeakBytes === undefined ? [] : [`stock holds ${formatBytes(stockPeakBytes)}`];
  return { facts: [problem, ...stock, command], command };
}

/** A budget is of what is held between ops; the peak is with what kernels take for themselves. */
function describeHeld(
  { budgetBytes, stockPeakBytes, heldBytes, peakBytes, countedPasses }: ExecutedPasses,
  { name, memoryBytes }: ExecutionPlace["device"],
): readonly string[] {
  const ofDevice = memoryBytes === undefined ? "" : ` of ${formatBytes(memoryBytes)} (${name})`;
  const ofStock =
    stockPeakBytes === undefined
      ? ""
      : `, ${formatPercent(peakBytes / stockPeakBytes)} of stock's ${formatBytes(stockPeakBytes)}`;
  const peak = `peak ${formatBytes(peakBytes)}${ofDevice}${ofStock}${countedPasses === undefined ? "" : ` in the first ${countedPasses} passes`}`;
  if (budgetBytes === undefined) return [peak];
  const within = (bytes: number): string => (bytes <= budgetBytes ? " within" : " beyond");
  const budget = ` a budget of ${formatBytes(budgetBytes)}`;
  return peakBytes <= budgetBytes
    ? [`${peak},${within(peakBytes)}${budget}`]
    : [
        peak,
        `held ${formatBytes(heldBytes)}${within(heldBytes)}${budget}; the rest is what kernels take while they run`,
      ];
}
