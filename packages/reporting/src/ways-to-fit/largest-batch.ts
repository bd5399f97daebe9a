import type { WayToFit } from "../verdict/way-to-fit.js";

/** Returns the peak, in bytes, of the step with that many samples in a batch. */
export type PeakOfBatch = (samples: number) => Promise<number>;

/** Maximum number of traced steps. More steps would gain only a sample or two. */
const mostTried = 5;

/**
 * Finds the largest batch with which a step fits. It starts with a batch of one sample, and then follows a line through
 * the known peaks. Undefined if one sample is too much.
 */
export async function largestBatch(
  samples: number,
  peakBytes: number,
  memoryBytes: number,
  peakOf: PeakOfBatch,
): Promise<WayToFit | undefined> {
  if (samples <= 1) return undefined;
  let fits = { batch: 1, peakBytes: await peakOf(1) };
  if (fits.peakBytes > memoryBytes) return undefined;
  let tooMuch = { batch: samples, peakBytes };
  for (let tried = 1; tried < mostTried && tooMuch.batch - fits.batch > 1; tried++) {
    const slope = (tooMuch.peakBytes - fits.peakBytes) / (tooMuch.batch - fits.batch);
    const onLine = fits.batch + Math.floor((memoryBytes - fits.peakBytes) / Math.max(slope, 1));
    const batch = Math.min(tooMuch.batch - 1, Math.max(fits.batch + 1, onLine));
    const found = { batch, peakBytes: await peakOf(batch) };
    if (found.peakBytes <= memoryBytes) fits = found;
    else tooMuch = found;
  }
  return { kind: "batch", ...fits };
}
