import type { WayToFit } from "./way-to-fit.js";

/** Savings below this share of the peak are not mentioned. */
export const worthSaying = 0.01;

/** Peak memory of a step: unchanged, and with options that recompute nothing. */
export interface FreePeaks {
  readonly peakBytes: number;
  /** Peak with early release. Left out if unknown, since it needs the model. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** Peak with a plan without recomputation. Left out if it cannot be computed. */
  readonly unrecomputedPeakBytes?: number | undefined;
}

/**
 * Returns the option with the lowest peak that adds no time: early release, which needs no plan, or a plan without
 * recomputation. Undefined if the saving is negligible.
 */
export function freeWay({
  peakBytes,
  earlyReleasePeakBytes = Infinity,
  unrecomputedPeakBytes = Infinity,
}: FreePeaks): WayToFit | undefined {
  const way: WayToFit =
    earlyReleasePeakBytes <= unrecomputedPeakBytes
      ? { kind: "early-release", peakBytes: earlyReleasePeakBytes }
      : { kind: "unrecomputed", peakBytes: unrecomputedPeakBytes };
  return peakBytes - way.peakBytes >= worthSaying * Math.max(1, peakBytes) ? way : undefined;
}
