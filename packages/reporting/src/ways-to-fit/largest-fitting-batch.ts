import type { FittingBatch } from "../verdict/verdict.js";
import type { PeakOfBatch } from "./largest-batch.js";

/**
 * The limit of the search. A dimension of a tensor is a signed 32-bit number in TensorFlow, so larger batches do not
 * run.
 */
const mostSamples = 2 ** 31 - 1;

/**
 * The maximum ratio of the next batch to the largest batch that is known to fit. A step with a far larger batch may be
 * too large to trace.
 */
const longestStride = 1024;

/** Limits the choice of batches. */
export interface BatchChoice {
  /** The batches to choose from, the smallest first. Default: any batch. */
  readonly batches?: readonly number[];
}

/**
 * Returns the largest batch that fits, assuming that a larger batch never uses less memory. It searches along a line
 * through the known peaks, and by bisection between the largest batch that fits and the smallest that does not.
 * Undefined if the smallest batch (by default one sample) does not fit. `isSearchLimit` is set if the search ended at
 * its own limit, or at a batch beyond which the step cannot be traced on this machine. In both cases, larger batches
 * may fit.
 *
 * @param samples size of the batch whose peak is known
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
  // Batches are numbered from 1 by their place among the allowed ones.
  const batchAt = (place: number): number => (batches === undefined ? place : batches[place - 1]);
  const placeOf = (batch: number): number =>
    batches === undefined ? Math.floor(batch) : batches.findLastIndex((each) => each <= batch) + 1;
  const places = batches?.length ?? mostSamples;
  const smallest = batchAt(1);
  const one = samples === smallest ? peakBytes : await peakOf(smallest);
  if (one > memoryBytes) return undefined;
  let fits: FittingBatch = { batch: smallest, peakBytes: one };
  let tooMuch: FittingBatch | undefined;
  /** The place of the smallest batch that could not be traced. */
  let outOfReach = Number.POSITIVE_INFINITY;
  const take = (found: FittingBatch): void => {
    if (found.peakBytes > memoryBytes) tooMuch = found;
    else if (found.batch > fits.batch) fits = found;
  };
  if (samples > smallest) take({ batch: samples, peakBytes });
  for (let tried = 0; ; tried++) {
    const least = placeOf(fits.batch) + 1;
    const most = Math.min(outOfReach, tooMuch === undefined ? places + 1 : placeOf(tooMuch.batch)) - 1;
    if (least > most) {
      const isSearchLimit = outOfReach <= most + 1 || (batches === undefined && tooMuch === undefined);
      return isSearchLimit ? { ...fits, isSearchLimit: true } : fits;
    }
    const other = tooMuch ?? { batch: smallest, peakBytes: one };
    const slope = (fits.peakBytes - other.peakBytes) / (fits.batch - other.batch);
    const farthest = longestStride * fits.batch;
    const onLine = placeOf(
      slope > 0 ? Math.min(farthest, fits.batch + (memoryBytes - fits.peakBytes) / slope) : 2 * fits.batch,
    );
    // Every other attempt takes the middle, in case a line does not help.
    const isBounded = tooMuch !== undefined || outOfReach < Number.POSITIVE_INFINITY;
    const next = tried % 2 === 1 && isBounded ? Math.floor((least - 1 + most + 1) / 2) : onLine;
    const batch = batchAt(Math.min(most, Math.max(least, next)));
    const bytes = await orOutOfReach(() => peakOf(batch));
    if (bytes === undefined) outOfReach = placeOf(batch);
    else take({ batch, peakBytes: bytes });
  }
}

/**
 * Returns undefined if JavaScript cannot allocate an array that a step needs. Some models fill arrays while they are
 * traced.
 */
async function orOutOfReach(peak: () => Promise<number>): Promise<number | undefined> {
  try {
    return await peak();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
