import type { HeldPeak } from "../held/held-memory.js";

/** Larger than anything that is looked for. */
const mostSize = 2 ** 30;

/** A size, and what a step of it holds. */
export interface FittingSize {
  readonly size: number;
  readonly peak: HeldPeak;
}

/**
 * Returns the largest size whose peak fits, where a larger one never holds less: by doubling from `from`, then by halving what is between. Undefined where 1 is too much.
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
  for (let size = from; tooMuch === undefined && size <= mostSize; size *= 2) take(size);
  if (fits === undefined) take(1);
  while (fits !== undefined && tooMuch !== undefined && tooMuch - fits.size > 1) take((fits.size + tooMuch) >> 1);
  return fits;
}
