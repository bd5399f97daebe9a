import type { ModuleOrders } from "./module-orders.js";
import type { ModuleRuntimes } from "./module-runtimes.js";

/**
 * Returns the module-wise report of PyTorch's `RuntimeEstimator.display_modulewise_stats`: execution orders, then a
 * line with forward and backward milliseconds for each module at most `depth` names deep. Ends with a newline.
 *
 * @example
 * modulewiseText({ ...moduleRuntimes(trace), ...moduleOrders(trace) }, { depth: 1 });
 */
export function modulewiseText(
  stats: Pick<ModuleRuntimes, "modRuntimes"> & Pick<ModuleOrders, "modFwPreOrder" | "modBwPreOrder">,
  { depth = 2 }: { readonly depth?: number } = {},
): string {
  const shown = (fqn: string) => fqn.split(".").length <= depth;
  const lines = [
    "Pre-Forward Execution Order: ",
    ...stats.modFwPreOrder.filter(shown),
    "Pre-Backward Execution Order: ",
    ...stats.modBwPreOrder.filter(shown),
  ];
  for (const [fqn, { forwardMs, backwardMs }] of stats.modRuntimes)
    if (shown(fqn)) lines.push(`${fqn} fw: ${formatMs(forwardMs)}ms bw: ${formatMs(backwardMs)}ms`);
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Returns the last line that PyTorch's estimator prints.
 *
 * @example
 * totalText("operator-level-cost-model", 1.25); // "Estimated (operator-level-cost-model)total_time: 1.250 ms\n"
 */
export function totalText(mode: string, totalRuntimeMs: number): string {
  return `Estimated (${mode})total_time: ${formatMs(totalRuntimeMs)} ms\n`;
}

/** Formats a number with three decimals as Python does. Python rounds a tie to even, but `toFixed` rounds it up. */
function formatMs(ms: number): string {
  // A tie has four decimals, the last of which is 5. A double represents it exactly only if it is a multiple of 1/16.
  const tie = Number.isInteger(ms * 16) && ms.toFixed(4).endsWith("5");
  return tie ? ((2 * Math.round(ms * 500)) / 1000).toFixed(3) : ms.toFixed(3);
}
