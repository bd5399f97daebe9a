/** Tensors that had the same odds of having their stacks taken: how many there are, how many of their stacks were taken, and how many of these are of one line. */
export interface Stratum {
  readonly total: number;
  readonly sampled: number;
  readonly ofLine: number;
}

/** How many of some tensors one line made, estimated from a random part of their stacks. */
export interface LineEstimate {
  /** The most likely number, not rounded; without those of which no stack was taken by chance. */
  readonly count: number;
  /** The ends of the 95% confidence interval: never below what was seen of the line, nor above what was not seen of other lines. */
  readonly low: number;
  readonly high: number;
  /** All of these tensors, whichever line made them: exact. */
  readonly of: number;
}

/** Standard errors. With the correction for continuity, the interval contains the truth in 95% of cases or more, whatever the size of the sample. */
const errors = 2.1;

/**
 * Estimates how many tensors one line made. Each stratum is a sample without replacement, whose interval is Wilson's, with corrections for continuity and for a
 * finite population. Of a stratum of which nothing was sampled, nothing is assumed.
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

/** The distance from the estimate to the farther end of the interval: of a small sample the nearer end is too near to be added up. */
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
