/** The answer for a series: it grows period for period, it has stopped growing (or never did), or it has too few periods to tell. */
export type GrowthVerdict = "growing" | "steady" | "too short";

/** How a quantity has changed over the periods after a warm-up. */
export interface SeriesGrowth {
  readonly verdict: GrowthVerdict;
  /** Mean growth per sample over the periods that were judged; 0 unless it grows. */
  readonly perSample: number;
  /** How many samples were judged, the warm-up left out. */
  readonly judged: number;
}

/** More about a series: how exact it is, and what it counts. */
export interface SeriesNature {
  /**
   * For a series that is estimated from a random sample: the variance that the estimate has collected up to each sample, so that the difference of two
   * samples has the difference of their variances. Left out, the series is exact.
   */
  readonly variance?: readonly number[];
  /** The size of one of the things that are counted: 1 for a count, bytes of one tensor for bytes. */
  readonly unit?: number;
  /** Whether most of it can never be freed, so that it is no buffer or cache, which only a longer run can tell from a leak. */
  readonly isLost?: boolean;
  /** Whether a rise of an estimate counts that chance may explain. */
  readonly isPossible?: boolean;
}

/** Fewer differences cannot tell growth from things that a program makes once. */
const fewestDifferences = 3;
/** An estimated rise counts if it is above so many standard errors, and near the end, where fewer things are counted, above so many. */
const standardErrors = 5;
const standardErrorsAtEnd = 3;
/** Growth is possible if an estimate has risen by so many in all. */
const possibleErrors = 2;
/** Standard errors by which the last third is below the first, and below the warm-up, in which things are made once. */
const slowing = 1;
const slowingSinceStart = 2;

/**
 * Judges a quantity by its values at the end of each period, oldest first, and its value now. The first quarter, at least one period, is warm-up.
 * Memory that is freed later does not count (a running minimum from the end). The quantity grows if this floor rises in each third of the rest, still
 * does so near the end, and has not been given back by now. Buffers and caches that fill do so for a while, so the floor must also
 *
 * - rise again and again, never level for more than a quarter of the rest,
 * - go with new maxima to the end,
 * - rise by more than twice the largest fall of the quantity,
 * - and rise in the last third as fast as in the first, or at half that pace.
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

/** The least value from each sample on. */
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

  /** An estimate rises and falls by chance. */
  isLevelForLong(): boolean {
    const last = this.values.length - 1;
    return this.isExact && this.gaps().some((gap) => gap > Math.max(2, last / 4));
  }

  /** In each third, and it has not stayed level for twice as long as between any two rises. */
  private risesOften(last: number): boolean {
    const thirds = new Set(this.rises().map((at) => Math.floor((3 * (at - 1)) / last)));
    const gaps = this.gaps();
    return thirds.size === 3 && gaps.at(-1)! <= 2 * Math.max(...gaps.slice(0, -1));
  }

  /** Where it is above the sample before. */
  private rises(): number[] {
    return this.values.flatMap((_, i) => (i > 0 && this.at(i) > this.at(i - 1) ? [i] : []));
  }

  /** From the start to the first rise, from each to the next, and from the last to the end. */
  private gaps(): number[] {
    const ends = [0, ...this.rises(), this.values.length - 1];
    return ends.slice(1).map((at, i) => at - ends[i]);
  }

  /** In each third, and in the last eighth, by more than chance explains. */
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

/** Whether the last quarter is nowhere above what came before. */
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

/** Whether the last third brought less than half of the first, or of the warm-up after its first moments, which is as long, and less than chance explains. */
function isSlowing(floor: Floor, last: number, unit: number, warmUp: number): boolean {
  const latest = floor.rise(Math.round((2 * last) / 3), last) / unit;
  const isBelow = (earlier: number, errors: number): boolean =>
    latest < earlier / 2 && (earlier - latest) ** 2 > errors ** 2 * (earlier + latest);
  return isBelow(floor.rise(0, Math.round(last / 3)) / unit, slowing) || isBelow(warmUp / unit, slowingSinceStart);
}
