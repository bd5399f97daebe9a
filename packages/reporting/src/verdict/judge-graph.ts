import { formatOverhead, formatPercent } from "../format-quantity.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Facts } from "./fact-lines.js";

/** What is known of a graph's memory and of a schedule for it. */
export interface GraphMemory {
  /** Without a plan: of running every node once in the given order. */
  readonly inOrderPeakBytes: number;
  /** What that is called; left out: "in order". */
  readonly inOrder?: string;
  /** What more of it a plan costs is called; left out: "cost". */
  readonly cost?: string;
  /** What may be held; left out: no budget was asked for. */
  readonly budgetBytes?: number | undefined;
  /** The schedule that was found: within the budget, or where nothing is the smallest. Its cost beyond that of every node once, as a fraction; left out: not told. */
  readonly planned: { readonly peakBytes: number; readonly overhead?: number };
}

/** Returns whether a graph fits its budget, as it is and as it was planned, with what to type next. */
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
