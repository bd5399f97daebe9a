import type { FittingBatch } from "../verdict/verdict.js";
import type { PeakOfBatch } from "./largest-batch.js";

/** More samples than anybody puts into one batch. */
const mostSamples = 2 ** 20;

/**
 * Returns the largest batch that fits, where a larger one never holds less: by a line through the peaks that are known, and by halving what is
 * between the largest that fits and the smallest that does not. Undefined where one sample is too much.
 *
 * @param samples of the batch whose peak is known
 * @example
 * await largestFittingBatch(8, peakBytes, deviceSpec("t4").memoryBytes, async (batch) => heldPeak(await traceFakeStep(model, { batch, predict: true })).peakBytes);
 */
export async function largestFittingBatch(
  samples: number,
  peakBytes: number,
  memoryBytes: number,
  peakOf: PeakOfBatch,
): Promise<FittingBatch | undefined> {
  const one = samples === 1 ? peakBytes : await peakOf(1);
  if (one > memoryBytes) return undefined;
  let fits: FittingBatch = { batch: 1, peakBytes: one };
  let tooMuch: FittingBatch | undefined;
  const take = (found: FittingBatch): void => {
    if (found.peakBytes > memoryBytes) tooMuch = found;
    else if (found.batch > fits.batch) fits = found;
  };
  if (samples > 1) take({ batch: samples, peakBytes });
  for (let tried = 0; ; tried++) {
    const most = tooMuch === undefined ? mostSamples : tooMuch.batch - 1;
    if (fits.batch >= most) return fits;
    const other = tooMuch ?? { batch: 1, peakBytes: one };
    const slope = (fits.peakBytes - other.peakBytes) / (fits.batch - other.batch);
    const onLine = slope > 0 ? fits.batch + Math.floor((memoryBytes - fits.peakBytes) / slope) : 2 * fits.batch;
    // Every other time the middle, where a line is of no help.
    const next = tried % 2 === 1 && tooMuch !== undefined ? (fits.batch + tooMuch.batch) >> 1 : onLine;
    const batch = Math.min(most, Math.max(fits.batch + 1, next));
    take({ batch, peakBytes: await peakOf(batch) });
  }
}
