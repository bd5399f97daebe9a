/**
 * Tensors with the same odds of having their stacks taken: their number, the number of stacks taken, and how many of
 * those belong to one line.
 */
export interface Stratum {
  readonly total: number;
  readonly sampled: number;
  readonly ofLine: number;
}

/** Estimate of how many tensors one line made, from a random part of their stacks. */
export interface LineEstimate {
  /** The most likely number, not rounded. Strata from which no stack was taken do not contribute. */
  readonly count: number;
  /**
   * Lower end of the 95% confidence interval. It is at least the number of tensors that were seen to come from this
   * line.
   */
  readonly low: number;
  /** Upper end of the 95% confidence interval. It excludes the tensors that were seen to come from other lines. */
  readonly high: number;
  /** Exact number of all tensors that the estimate is about, from any line. */
  readonly of: number;
}

/**
 * Standard errors. With the continuity correction, the interval contains the truth in at least 95% of cases for any
 * sample size.
 */
const errors = 2.1;

/**
 * Estimates how many tensors one line made. Each stratum is a sample without replacement, with a Wilson interval
 * corrected for continuity and for a finite population. If nothing was sampled from a stratum, nothing is assumed about
 * it.
 *
 * @example
 * estimateLine([{ total: 1000, sampled: 100, ofLine: 50 }]); // { count: 500, low: 397, high: 603, of: 1000 }
 */
export function estimateLine(strata: readonly Stratum[]): LineEstimate {
  let [of, seen, seenOfOthers, count, squares, unknown] = [0, 0, 0, 0, 0, 0];
  for (const { total, sampled, ofLine } of strata) {
    of += total;
    seen += ofLine;
    seenOfOthers += sampled - ofLine;
    if (sampled === 0) unknown += total;
    else {
      count += (total * ofLine) / sampled;
      squares += errorOf(total, sampled, ofLine) ** 2;
    }
  }
  const most = of - seenOfOthers;
  const error = Math.sqrt(squares);
  return {
    count,
    low: Math.max(seen, Math.floor(count - error)),
    high: Math.min(most, Math.ceil(count + error) + unknown),
    of,
  };
}

/**
 * The distance from the estimate to the farther end of the interval. For a small sample the nearer end is too close to
 * the estimate to be combined.
 */
function errorOf(total: number, sampled: number, ofLine: number): number {
  if (sampled >= total) return 0;
  const share = ofLine / sampled;
  const square = (errors ** 2 / sampled) * ((total - sampled) / (total - 1));
  const endAt = (sign: 1 | -1): number => {
    const at = Math.min(1, Math.max(0, share + sign / (2 * sampled)));
    const half = Math.sqrt(square * (at * (1 - at) + square / 4));
    return (at + square / 2 + sign * half) / (1 + square);
  };
  return total * Math.max(endAt(1) - share, share - endAt(-1));
}
