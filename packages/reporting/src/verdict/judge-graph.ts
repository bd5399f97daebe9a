import { formatOverhead, formatPercent } from "../format-quantity.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Facts } from "./fact-lines.js";

/** Memory of a graph and of a schedule for it. */
export interface GraphMemory {
  /** Peak without a plan: every node runs once in the given order. */
  readonly inOrderPeakBytes: number;
  /** Name of that peak. Default: "in order". */
  readonly inOrder?: string;
  /** Name of the extra cost of a plan. Default: "cost". */
  readonly cost?: string;
  /** The budget. Left out if none was requested. */
  readonly budgetBytes?: number | undefined;
  /**
   * The schedule that was found: one within the budget, or, if none exists, the one with the smallest peak.
   * `overhead` is its extra cost as a fraction of running every node once. It is left out if it is not shown.
   */
  readonly planned: { readonly peakBytes: number; readonly overhead?: number };
}

/** Judges whether a graph fits its budget, with and without a plan, and names the command to run next. */
export function judgeGraph(
  { inOrderPeakBytes, inOrder: called = "in the given order", cost: more = "cost", budgetBytes, planned }: GraphMemory,
  { command, units }: { readonly command?: string | undefined; readonly units?: SizeUnit | undefined } = {},
): Facts & { readonly fits?: boolean } {
  const size = sizeFormat(units);
  const { peakBytes, overhead } = planned;
  const share = inOrderPeakBytes > 0 ? ` (${formatPercent(peakBytes / inOrderPeakBytes)})` : "";
  const cost =
    overhead === undefined ? "" : overhead <= 0 ? ", no slowdown" : `, ${formatOverhead(overhead)} more ${more}`;
  const isOver = budgetBytes !== undefined && inOrderPeakBytes > budgetBytes;
  const planFits = budgetBytes === undefined || peakBytes <= budgetBytes;
  const peak = `peak memory ${called} is`;
  return {
    facts: [
      budgetBytes === undefined
        ? `Peak memory ${called} is ${size(inOrderPeakBytes)}.`
        : `${isOver ? "Does not fit" : "Fits"}: ${peak} ${size(inOrderPeakBytes)}, the budget is ${size(budgetBytes)}${isOver ? `, ${size(inOrderPeakBytes - budgetBytes)} too much` : ""}.`,
      `${planFits ? "Planned" : "Smallest found"}: ${size(peakBytes)}${share}${cost}.${isOver ? (planFits ? " This fits." : " This does not fit either.") : ""}`,
      ...(command === undefined ? [] : ["Next:", command]),
    ],
    command,
    ...(budgetBytes !== undefined && { fits: !isOver }),
  };
}
