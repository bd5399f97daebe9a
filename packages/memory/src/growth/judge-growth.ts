/** The verdict on a series: it grows from period to period, it does not grow (any more), or it has too few periods. */
export type GrowthVerdict = "growing" | "steady" | "too short";

/** The change of a quantity over the periods after a warm-up. */
export interface SeriesGrowth {
  readonly verdict: GrowthVerdict;
  /** Mean growth per sample over the judged periods, or 0 unless it grows. */
  readonly perSample: number;
  /** The number of judged samples, without the warm-up. */
  readonly judged: number;
}

/** Further properties of a series: its precision and its unit. */
export interface SeriesNature {
  /**
   * For a series estimated from a random selection of objects, the variance collected up to each sample. The variance
   * of the difference of two samples is the difference of these values. By default the series is exact.
   */
  readonly variance?: readonly number[];
  /** The size of one counted object: 1 for a count, the bytes of one tensor for bytes. */
  readonly unit?: number;
  /**
   * True if most of the counted objects can never be freed. They then cannot be a buffer or cache. Otherwise only a
   * longer run can distinguish these from a leak.
   */
  readonly isLost?: boolean;
  /** True if a rise of an estimate counts even if chance may explain it. */
  readonly isPossible?: boolean;
}

/** Fewer differences cannot distinguish growth from objects that a program creates once. */
const fewestDifferences = 3;
/**
 * An estimated rise counts if it is above this many standard errors. The second number is for the end of the series,
 * where fewer objects are counted.
 */
const standardErrors = 5;
const standardErrorsAtEnd = 3;
/** Growth is possible if an estimate has risen by this many standard errors in total. */
const possibleErrors = 3;
/**
 * Number of standard errors by which the last third must be below the first third to count as slowing. The second
 * number compares it with the warm-up, in which a program also creates objects that it needs once.
 */
const slowing = 1;
const slowingSinceStart = 2;

/**
 * Decides whether a quantity grows, from its values at the end of each period, oldest first, and its current value. The
 * first quarter, at least one period, is warm-up. Memory that is freed later does not count. The test therefore uses
 * the floor: the lowest value from each sample on. The quantity grows if the floor rises in each third of the remaining
 * periods, still rises near the end, and has not been freed by now. Buffers and caches also grow while they fill. The
 * floor must therefore also
 *
 * - rise repeatedly, without a level stretch of more than a quarter of the remaining periods,
 * - reach new maxima to the end,
 * - rise by more than twice the largest fall of the quantity,
 * - and rise in the last third at least half as fast as in the first.
 *
 * @example
 * judgeGrowth([3, 4, 5, 6, 7], 7).verdict; // "growing"
 * judgeGrowth([1, 2, 3, 4, 4, 4, 4, 4], 4).verdict; // "steady": a buffer that is full
 */
export function judgeGrowth(samples: readonly number[], now: number, nature: SeriesNature = {}): SeriesGrowth {
  const start = Math.max(1, samples.length >> 2);
  const values = samples.slice(start);
  const differences = values.length - 1;
  const judged = Math.max(0, differences);
  if (differences < fewestDifferences) return { verdict: "too short", perSample: 0, judged };
  const floor = new Floor(values, nature.variance?.slice(start), nature.isPossible);
  const grown = floor.rise(0, differences);
  const isGivenBack = now <= Math.min(samples[0], floor.at(0)) + grown / 4;
  const isBuffer =
    nature.isLost !== true &&
    (floor.isLevelForLong() ||
      hasCeiling(values) ||
      (nature.isPossible !== true && grown <= 2 * largestFall(values)) ||
      isSlowing(floor, differences, nature.unit ?? 1, floor.at(0) - samples[samples.length >> 4]));
  const isGrowing = floor.risesThroughout() && !isGivenBack && !isBuffer;
  return isGrowing
    ? { verdict: "growing", perSample: grown / differences, judged }
    : { verdict: "steady", perSample: 0, judged };
}

/** The lowest value from each sample on. */
class Floor {
  private readonly values: readonly number[];
  private readonly variance: readonly number[] | undefined;
  private readonly isPossible: boolean;
  private readonly lowest: number[];
  private readonly isExact: boolean;

  constructor(values: readonly number[], variance: readonly number[] | undefined, isPossible = false) {
    this.values = values;
    this.variance = variance;
    this.isPossible = isPossible;
    this.lowest = values.map((_, i) => i);
    for (let i = values.length - 2; i >= 0; i--) {
      const later = this.lowest[i + 1];
      if (values[later] <= values[i]) this.lowest[i] = later;
    }
    this.isExact = variance === undefined || variance.at(-1) === variance[0];
  }

  at(i: number): number {
    return this.values[this.lowest[i]];
  }

  rise(from: number, to: number): number {
    return this.at(to) - this.at(from);
  }

  risesThroughout(): boolean {
    const last = this.values.length - 1;
    return this.isExact ? this.risesOften(last) : this.risesClearly(last);
  }

  /**
   * Returns whether the floor is level for too long. Always false for an estimate, because it rises and falls by
   * chance.
   */
  isLevelForLong(): boolean {
    const last = this.values.length - 1;
    return this.isExact && this.gaps().some((gap) => gap > Math.max(2, last / 4));
  }

  /**
   * Returns whether the floor rises in each third, and its last level stretch is at most twice as long as the longest
   * one between two rises.
   */
  private risesOften(last: number): boolean {
    const thirds = new Set(this.rises().map((at) => Math.floor((3 * (at - 1)) / last)));
    const gaps = this.gaps();
    return thirds.size === 3 && gaps.at(-1)! <= 2 * Math.max(...gaps.slice(0, -1));
  }

  /** Returns the samples where the floor is above the previous sample. */
  private rises(): number[] {
    return this.values.flatMap((_, i) => (i > 0 && this.at(i) > this.at(i - 1) ? [i] : []));
  }

  /** Returns the distances from the start to the first rise, between rises, and from the last rise to the end. */
  private gaps(): number[] {
    const ends = [0, ...this.rises(), this.values.length - 1];
    return ends.slice(1).map((at, i) => at - ends[i]);
  }

  /** Returns whether the floor rises in each third and in the last eighth by more than chance explains. */
  private risesClearly(last: number): boolean {
    const [first, second, eighth] = [last / 3, (2 * last) / 3, (7 * last) / 8].map((at) => Math.floor(at));
    if (this.isPossible) return this.isClear(0, last, possibleErrors);
    return (
      this.isClear(0, first, standardErrors) &&
      this.isClear(first, second, standardErrors) &&
      this.isClear(second, last, standardErrors) &&
      this.isClear(eighth, last, standardErrorsAtEnd)
    );
  }

  private isClear(from: number, to: number, errors: number): boolean {
    const [a, b] = [this.lowest[from], this.lowest[to]];
    const variance = this.variance![b] - this.variance![a];
    return b > a && this.rise(from, to) > errors * Math.sqrt(variance);
  }
}

/** Returns whether no value in the last quarter is above the earlier values. */
function hasCeiling(values: readonly number[]): boolean {
  const start = Math.floor((3 * (values.length - 1)) / 4);
  return Math.max(...values.slice(start)) <= Math.max(...values.slice(0, start));
}

function largestFall(values: readonly number[]): number {
  let most = 0;
  let fall = 0;
  for (const value of values) {
    most = Math.max(most, value);
    fall = Math.max(fall, most - value);
  }
  return fall;
}

/**
 * Returns whether growth slows down: the last third rose less than half as much as the first third, or as the warm-up
 * without its first moments, and the difference is larger than chance explains. The warm-up has the same length as a
 * third.
 */
function isSlowing(floor: Floor, last: number, unit: number, warmUp: number): boolean {
  const latest = floor.rise(Math.round((2 * last) / 3), last) / unit;
  const isBelow = (earlier: number, errors: number): boolean =>
    latest < earlier / 2 && (earlier - latest) ** 2 > errors ** 2 * (earlier + latest);
  return isBelow(floor.rise(0, Math.round(last / 3)) / unit, slowing) || isBelow(warmUp / unit, slowingSinceStart);
}
