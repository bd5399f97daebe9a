import type { HeldPeak } from "../held/held-memory.js";

/**
 * The limit of the search. PyTorch and TensorFlow index many tensors with signed 32-bit numbers, so larger sizes would
 * not run.
 */
const mostSize = 2 ** 31 - 1;

/** A size that fits, and the peak memory of its step. */
export interface FittingSize {
  readonly size: number;
  readonly peak: HeldPeak;
  /**
   * True if the search ended at its own limit and the size still fits, so that larger sizes may also fit. Left out if
   * the next size does not fit.
   */
  readonly isSearchLimit?: true;
}

/**
 * Returns the largest size whose peak fits, assuming that a larger size never uses less memory. The search doubles the
 * size from `from`, then bisects. Returns undefined if even size 1 does not fit.
 *
 * @example
 * largestSize((size) => extrapolation.peakAt(size), 80 * 2 ** 30, 2048)?.size;
 */
export function largestSize(
  peakAt: (size: number) => HeldPeak,
  memoryBytes: number,
  from: number,
): FittingSize | undefined {
  let fits: FittingSize | undefined;
  let tooMuch: number | undefined;
  const take = (size: number): void => {
    const peak = peakAt(size);
    if (peak.peakBytes > memoryBytes) tooMuch = size;
    else fits = { size, peak };
  };
  for (let size = from; tooMuch === undefined && size < mostSize; size *= 2) take(size);
  if (tooMuch === undefined) take(mostSize);
  if (fits === undefined) take(1);
  while (fits !== undefined && tooMuch !== undefined && tooMuch - fits.size > 1)
    take(Math.floor((fits.size + tooMuch) / 2));
  return fits === undefined || tooMuch !== undefined ? fits : { ...fits, isSearchLimit: true };
}
