import type { Plan } from "@remat/trace";
import { formatMs, formatOverhead } from "./format-quantity.js";
import type { TimeFormat } from "./time-quality.js";

/**
 * Describes a plan's optimality gap: an upper bound on how far it is from the fastest plan within its budget. If the
 * order was fixed, only plans with the same order of first runs count.
 */
export function describeProof(
  { predicted: { gap, lowerBound }, origin, subject }: Plan,
  time: TimeFormat = formatMs,
): string {
  if (gap === 0) return origin.order === "fixed" ? "proven optimal for this order" : "proven optimal";
  const cost = subject.kind === "trace" ? time(lowerBound) : String(lowerBound);
  return `no plan within the budget takes less than ${cost} (optimality gap ${formatOverhead(gap)})`;
}
