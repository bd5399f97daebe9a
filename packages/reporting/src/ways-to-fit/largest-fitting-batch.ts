import type { FittingBatch } from "../verdict/verdict.js";
import type { PeakOfBatch } from "./largest-batch.js";

/** More samples than anybody puts into one batch. */
const mostSamples = 2 ** 20;

export interface BatchChoice {
  /** The batches that may be taken, the smallest first; left out: any. */
  readonly batches?: readonly number[];
}

/**
 * Returns the largest batch that fits, where a larger one never holds less: by a line through the peaks that are known, and by halving what is
 * between the largest that fits and the smallest that does not. Undefined where the smallest, one sample if nobody says otherwise, is too much.
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
  { batches }: BatchChoice = {},
): Promise<FittingBatch | undefined> {
  // Batches by their place among those that may be taken: all are counted from 1.
  const batchAt = (place: number): number => (batches === undefined ? place : batches[place - 1]);
  const placeOf = (batch: number): number =>
    batches === undefined ? Math.floor(batch) : batches.findLastIndex((each) => each <= batch) + 1;
  const places = batches?.length ?? mostSamples;
  const smallest = batchAt(1);
  const one = samples === smallest ? peakBytes : await peakOf(smallest);
  if (one > memoryBytes) return undefined;
  let fits: FittingBatch = { batch: smallest, peakBytes: one };
  let tooMuch: FittingBatch | undefined;
  const take = (found: FittingBatch): void => {
    if (found.peakBytes > memoryBytes) tooMuch = found;
    else if (found.batch > fits.batch) fits = found;
  };
  if (samples > smallest) take({ batch: samples, peakBytes });
  for (let tried = 0; ; tried++) {
    const least = placeOf(fits.batch) + 1;
    const most = tooMuch === undefined ? places : placeOf(tooMuch.batch) - 1;
    if (least > most) return fits;
    const other = tooMuch ?? { batch: smallest, peakBytes: one };
    const slope = (fits.peakBytes - other.peakBytes) / (fits.batch - other.batch);
    const onLine = placeOf(slope > 0 ? fits.batch + (memoryBytes - fits.peakBytes) / slope : 2 * fits.batch);
    // Every other time the middle, where a line is of no help.
    const next = tried % 2 === 1 && tooMuch !== undefined ? (least - 1 + most + 1) >> 1 : onLine;
    const batch = batchAt(Math.min(most, Math.max(least, next)));
    take({ batch, peakBytes: await peakOf(batch) });
  }
}
