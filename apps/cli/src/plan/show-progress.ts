import type { RematerializeProgress } from "@remat/planner";
import { formatBytes, formatOverhead } from "@remat/reporting";
import type { Progress } from "../progress.js";

/** Shows a progress line with the best result so far. */
export function showProgress(
  progress: Progress,
  name: string,
  plainCost: number | undefined,
): (state: RematerializeProgress) => void {
  const began = performance.now();
  return ({ cost, smallestPeakBytes, iterations }) => {
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const best =
      cost === undefined
        ? `lowest peak so far ${formatBytes(smallestPeakBytes)}`
        : plainCost === undefined || plainCost === 0
          ? `best so far costs ${Number(cost.toPrecision(6))}`
          : `best so far +${formatOverhead((cost - plainCost) / plainCost)}`;
    progress.show(`planning ${name}: ${seconds} s, ${best}, ${iterations} iterations; Ctrl-C keeps the best`);
  };
}
