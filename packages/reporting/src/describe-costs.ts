import type { LayerCosts } from "@remat/runtime-estimator";
import { formatNumber } from "@remat/trace/text";

const units = ["", " k", " M", " G", " T", " P"] as const;

/**
 * Formats a count: as a whole number below ten thousand, and above that with four digits and k, M or G.
 *
 * @example
 * formatCount(300774272); // "300.8 M"
 */
export function formatCount(count: number): string {
  if (count < 9999.5) return String(Math.round(count));
  let at = 0;
  let left = count;
  for (; left >= 999.95 && at < units.length - 1; at++) left /= 1000;
  return `${Number(left.toPrecision(4))}${units[at]}`;
}

/** Describes the parameters, multiply-adds and FLOPs of a model's forward pass. FLOPs are two for each multiply-add. */
export function describeCosts({ total }: Pick<LayerCosts, "total">): string {
  const { parameters, buffers, multiplyAdds, flops } = total;
  const untrained = buffers === 0 ? "" : ` (${formatNumber(buffers)} of them not trained)`;
  return `${formatNumber(parameters + buffers)} parameters${untrained}, ${formatCount(multiplyAdds)} multiply-adds (${formatCount(flops)} FLOPs) in the forward pass`;
}
