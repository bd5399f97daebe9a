import { formatOverhead, formatPercent } from "../format-quantity.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Facts } from "./fact-lines.js";

/** Memory of a graph and of a schedule for it. */
export interface GraphMemory {
  /** Peak without a plan: every node runs once in the given order. */
  readonly inOrderPeakBytes: number;
  /** Name of that peak. Left out: "in order". */
  readonly inOrder?: string;
  /** Name of the extra cost of a plan. Left out: "cost". */
  readonly cost?: string;
  /** The budget. Left out if none was requested. */
  readonly budgetBytes?: number | undefined;
  /**
   * The schedule that was found: within the budget, or the smallest if none is. `overhead` is its extra cost as a
   * fraction of running every node once. Left out if not shown.
   */
  readonly planned: { readonly peakBytes: number; readonly overhead?: number };
}

/** Judges whether a graph fits its budget, unplanned and planned, and names the command to run next. */
export function judgeGraph(
  { inOrderPeakBytes, inOrder: called = "in order", cost: more = "cost", budgetBytes, planned }: GraphMemory,
  { command, units }: { readonly command?: string | undefined; readonly units?: SizeUnit | undefined } = {},
): Facts & { readonly fits?: boolean } {
  const size = sizeFormat(units);
  const inOrder = `peak ${size(inOrderPeakBytes)} ${called}`;
  const { peakBytes, overhead } = planned;
  const share = inOrderPeakBytes > 0 ? ` (${formatPercent(peakBytes / inOrderPeakBytes)})` : "";
  const cost =
    overhead === undefined ? "" : overhead <= 0 ? " at no cost" : ` for ${formatOverhead(overhead)} more ${more}`;
  const isOver = budgetBytes !== undefined && inOrderPeakBytes > budgetBytes;
  return {
    facts: [
      budgetBytes === undefined
        ? inOrder
        : `${inOrder} of a budget of ${size(budgetBytes)}: ${isOver ? `does not fit, ${size(inOrderPeakBytes - budgetBytes)} too much` : "fits"}`,
      `${budgetBytes !== undefined && peakBytes > budgetBytes ? "smallest found" : "planned"} ${size(peakBytes)}${share}${cost}${isOver ? (peakBytes <= budgetBytes ? ", fits" : ", does not fit either") : ""}`,
      ...(command === undefined ? [] : [command]),
    ],
    command,
    ...(budgetBytes !== undefined && { fits: !isOver }),
  };
}
