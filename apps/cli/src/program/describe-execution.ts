import type { ExecutedPasses, ResidentBytes, ThreadReport } from "@remat/program";
import { formatBytes, formatMs, formatPercent } from "@remat/reporting";
import { type Facts } from "@remat/reporting/verdict";
import type { DeviceSpec } from "@remat/trace";
import { describeKilled } from "./program-command.js";

/** A plan that a program ran with: its file as typed, and the predicted peak in bytes. */
export interface GivenPlan {
  readonly file: string;
  readonly peakBytes: number;
}

/** Where a program ran, with which plans, and the command for further analysis. */
export interface ExecutionPlace {
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly plans?: readonly GivenPlan[];
  readonly command?: string | undefined;
}

/** Describes a thread's savings, their cost and the next command, or why the program could not continue. */
export function describeExecution(report: ThreadReport, { device, plans = [], command }: ExecutionPlace): Facts {
  const { thread, passes, problem, executed, resident } = report;
  const where = thread === 0 ? "" : ` in worker ${thread}`;
  if (problem !== undefined) return describeProblem(problem, executed, command);
  if (executed === undefined)
    return { facts: [`${passes} passes${where}. The thread was killed before it reported more.`] };
  const killed = describeKilled(report);
  const { passesMs, recomputedMs, recomputedOps, offloadedBytes } = executed;
  const facts = [
    ...describeHeld(executed, device),
    ...describePasses(`${passes} ${passes === 1 ? "pass" : "passes"}${where}`, passes, executed, plans),
    recomputedOps === 0
      ? "Nothing was recomputed."
      : `${(recomputedOps / passes).toFixed(1)} ops per pass were recomputed, ` +
        `which took ${formatMs(recomputedMs)} of ${formatMs(passesMs)} (${formatPercent(recomputedMs / passesMs)}).`,
    ...(offloadedBytes > 0 ? [`${formatBytes(offloadedBytes / passes)} per pass were offloaded.`] : []),
    ...(thread > 0 || resident === undefined ? [] : [describeResident(resident)]),
    ...(killed === undefined ? [] : [killed]),
    ...(command === undefined ? [] : ["To record these passes for a plan:", command]),
  ];
  return { facts, command };
}

/**
 * Resident memory as the user sees it: besides tensors it includes code, JavaScript's heap, and memory that allocators
 * keep.
 */
const describeResident = ({ beforePasses, most }: ResidentBytes): string =>
  `Resident memory of the process peaked at ${formatBytes(most)}, ${formatBytes(Math.max(0, most - beforePasses))} more than before the first pass.`;

/** Returns how many passes of a thread did not follow a plan. */
export function unplannedPasses({ passes, executed }: Pick<ThreadReport, "passes" | "executed">): number {
  return (executed?.planPasses ?? []).reduce((left, planned) => left - planned, passes);
}

/** A peak within this fraction above the prediction counts as equal. */
const slight = 0.01;

/** Describes how many passes followed each plan and, if there were several kinds, which had the highest peak. */
function describePasses(
  counted: string,
  passes: number,
  executed: ExecutedPasses,
  plans: readonly GivenPlan[],
): readonly string[] {
  if (plans.length === 0) return [`${counted}.`];
  const { budgetBytes, peakBytes, planPasses, peakPlan, leftPlan } = executed;
  const others = budgetBytes === undefined ? "with early release" : "without a plan";
  const unplanned = unplannedPasses({ passes, executed });
  const kinds = [
    ...planPasses.map((count, plan) => ({ plan, count, what: `by ${plans[plan].file}` })),
    { plan: undefined, count: unplanned, what: others },
  ].filter(({ count, plan }) => count > 0 || plan !== undefined);
  const followed = peakPlan === undefined ? undefined : plans[peakPlan];
  const most = kinds.find(({ plan }) => plan === peakPlan);
  return [
    `${counted}: ${kinds.map(({ count, what }) => `${count} ${what}`).join(", ")}.`,
    ...(most === undefined || kinds.filter(({ count }) => count > 0).length < 2
      ? []
      : [`The peak was in passes ${most.what}.`]),
    ...(followed === undefined || peakBytes <= (1 + slight) * followed.peakBytes
      ? []
      : [
          `${followed.file} predicts ${formatBytes(followed.peakBytes)}, for the step as recorded: ` +
            "the program may have used less memory then, and memory in use between steps is not counted.",
        ]),
    ...(unplanned > 0 && leftPlan !== undefined
      ? [`A pass stopped following its plan: ${leftPlan}. It continued without the additional frees of the plan.`]
      : []),
  ];
}

/** For a rejected budget, also gives the baseline's peak and how to analyse it. */
function describeProblem(problem: string, executed: ExecutedPasses | undefined, command: string | undefined): Facts {
  const { budgetBytes, stockPeakBytes } = executed ?? {};
  if (budgetBytes === undefined || command === undefined) return { facts: [problem] };
  const stock = stockPeakBytes === undefined ? [] : [`Without remat, peak memory is ${formatBytes(stockPeakBytes)}.`];
  return { facts: [problem, ...stock, "To see what uses the memory:", command], command };
}

/** A budget limits live memory between ops. The peak also includes memory inside kernels. */
function describeHeld(
  { budgetBytes, stockPeakBytes, heldBytes, peakBytes, measuredPeakBytes = 0, countedPasses }: ExecutedPasses,
  { name, memoryBytes }: ExecutionPlace["device"],
): readonly string[] {
  const ofDevice = memoryBytes === undefined ? "" : ` of ${formatBytes(memoryBytes)} (${name})`;
  const ofStock =
    stockPeakBytes === undefined
      ? ""
      : `, ${formatPercent(peakBytes / stockPeakBytes)} of the baseline (${formatBytes(stockPeakBytes)})`;
  const peak = `Peak memory ${formatBytes(peakBytes)}${ofDevice}${ofStock}${countedPasses === undefined ? "" : ` in the first ${countedPasses} passes`}`;
  if (budgetBytes === undefined) return [`${peak}.`];
  const budget = `the budget of ${formatBytes(budgetBytes)}`;
  const measured =
    measuredPeakBytes > peakBytes
      ? [`It reached ${formatBytes(measuredPeakBytes)} before the baseline was known.`]
      : [];
  if (peakBytes <= budgetBytes) return [`${peak}, within ${budget}.`, ...measured];
  const held = `Tensors took ${formatBytes(heldBytes)}`;
  return [
    `${peak}.`,
    heldBytes <= budgetBytes
      ? `${held}, within ${budget}. The rest is scratch memory of kernels.`
      : `${held}, ${formatBytes(heldBytes - budgetBytes)} more than ${budget}.`,
    ...measured,
  ];
}
