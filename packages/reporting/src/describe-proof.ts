import type { Plan } from "@remat/trace";
import { formatMs, formatOverhead } from "./format-quantity.js";

/** Returns how far a plan is at most from the quickest within its budget: of plans in which ops first run in the same order, where nobody was free to change that. */
export function describeProof({ predicted: { gap, lowerBound }, origin, subject }: Plan): string {
  if (gap === 0) return origin.order === "fixed" ? "proven optimal for this order" : "proven optimal";
  const cost = subject.kind === "trace" ? formatMs(lowerBound) : String(lowerBound);
  return `no plan takes less than ${cost}: gap ${formatOverhead(gap)}`;
}
