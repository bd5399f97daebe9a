import type { WayToFit } from "./way-to-fit.js";

/** Less than this share of the peak is not worth a word. */
export const worthSaying = 0.01;

/** What a step holds at its peak, as it is and where nothing is recomputed. */
export interface FreePeaks {
  readonly peakBytes: number;
  /** Left out: nobody can say without its model. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** Of a plan without recomputation; left out: that cannot be said. */
  readonly unrecomputedPeakBytes?: number | undefined;
}

/** Returns what holds least and costs no time, of early release, which needs no plan, and a plan that recomputes nothing; undefined where that is next to nothing. */
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
