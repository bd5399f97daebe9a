import { type GrowthVerdict, judgeGrowth, type SeriesNature } from "./judge-growth.js";

/** Live memory of one allocation site, and whether it grows. */
export interface MakerGrowth {
  /** Live objects now. This is an estimate if only a sample of the objects is counted. */
  readonly count: number;
  /** Live bytes now. */
  readonly bytes: number;
  /** Standard error of `count`. Left out if the count is exact. */
  readonly countError?: number;
  readonly verdict: GrowthVerdict;
  /** The kind of period that the verdict is about, or undefined if none has ended. */
  readonly period: string | undefined;
  /** Growth of the count per period, or 0 unless it grows. */
  readonly countPerPeriod: number;
  /** Growth in bytes per period, or 0 unless it grows. */
  readonly bytesPerPeriod: number;
  /** The number of periods that were judged, without those of the warm-up. */
  readonly periods: number;
}

/**
 * Number of samples kept per allocation site and kind of period. When it is reached, every second sample is dropped and
 * the sampling rate is halved.
 */
const mostSamples = 64;

/**
 * Counts and bytes of one allocation site at the end of the sampled periods, and the collected variance of the count.
 */
interface Samples {
  count: number[];
  bytes: number[];
  variance: number[];
  /**
   * The lowest count since the previous sample, or infinity if the count was never below that sample. A buffer may be
   * emptied and filled again within a period.
   */
  dip: number[];
}

/**
 * Returns the variance of one sampled object that was drawn with a probability of 1 / `weight` and counts as `weight`
 * objects.
 */
const varianceOf = (weight: number): number => weight * (weight - 1);

/**
 * After this many periods of a higher kind, earlier periods of lower kinds are no longer judged. The same number is
 * enough to judge growth.
 */
const fewestAfter = 4;

/** The periods of one kind. */
class Clock {
  readonly rank: number;
  /** For each allocation site, the lowest count since the last sample. */
  readonly lows: number[];
  ended = 0;
  /**
   * The number of periods of higher kinds since the last period of this kind, and the largest such number between two
   * periods of this kind.
   */
  since = 0;
  longest = 0;
  stride = 1;
  taken = 0;
  /** For each allocation site. Sites that have never had a live object have no samples. */
  readonly samples: (Samples | undefined)[] = [];

  constructor(rank: number, lows: number[]) {
    this.rank = rank;
    this.lows = lows;
  }

  get isOver(): boolean {
    return this.since > Math.max(fewestAfter, 2 * this.longest);
  }
}

/**
 * Counts live objects by allocation site (a line or an op, numbered by the caller). At the end of periods, it decides
 * which sites have objects that outlive their period and grow in number. It stores only the live counts and at most
 * {@link mostSamples} samples of them, for any number of periods.
 *
 * @example
 * const growth = new GrowthAccumulator();
 * for (let step = 0; step < 10; step++) {
 *   growth.allocated(0, 64);
 *   growth.endPeriod("step");
 * }
 * growth.growthOf(0); // { verdict: "growing", countPerPeriod: 1, bytesPerPeriod: 64, … }
 */
export class GrowthAccumulator {
  private readonly kinds: readonly string[];
  private readonly counts: number[] = [];
  private readonly bytes: number[] = [];
  /**
   * For each allocation site, the variance of its count, and the sum of all variance added by allocations and frees.
   */
  private readonly variances: number[] = [];
  private readonly collected: number[] = [];
  private readonly clocks = new Map<string, Clock>();

  /**
   * @param kinds the kinds of periods, lowest first. A program often runs periods of a lower kind to prepare for a
   * higher kind: it computes features, for example, and then trains the model. Objects left by such a phase are no
   * longer judged once a higher kind runs. Kinds that are not listed are higher than all others.
   */
  constructor(kinds: readonly string[] = []) {
    this.kinds = kinds;
  }

  /**
   * Records an allocation. Sites are numbered from 0. If only one in `weight` objects of a site is recorded, drawn at
   * random, it counts as `weight` objects. Growth is then reported only if chance does not explain it.
   */
  allocated(maker: number, bytes: number, weight = 1): void {
    while (this.counts.length <= maker) {
      this.counts.push(0);
      this.bytes.push(0);
      this.variances.push(0);
      this.collected.push(0);
    }
    this.counts[maker] += weight;
    this.bytes[maker] += weight * bytes;
    if (weight === 1) return;
    this.variances[maker] += varianceOf(weight);
    this.collected[maker] += varianceOf(weight);
  }

  /** Records that an object is freed. Size and weight must be those of its allocation. */
  freed(maker: number, bytes: number, weight = 1): void {
    const count = (this.counts[maker] -= weight);
    this.bytes[maker] -= weight * bytes;
    for (const { lows } of this.clocks.values()) if (count < (lows[maker] ?? 0)) lows[maker] = count;
    if (weight === 1) return;
    this.variances[maker] -= varianceOf(weight);
    this.collected[maker] += varianceOf(weight);
  }

  /** Records the end of a period: a training step, a call of `predict`, or one marked by the program. */
  endPeriod(kind: string): void {
    let clock = this.clocks.get(kind);
    if (clock === undefined) {
      const rank = this.kinds.indexOf(kind);
      this.clocks.set(kind, (clock = new Clock(rank < 0 ? this.kinds.length : rank, [...this.counts])));
    }
    for (const other of this.clocks.values()) if (other.rank < clock.rank) other.since++;
    clock.longest = Math.max(clock.longest, clock.since);
    clock.since = 0;
    if (++clock.ended % clock.stride !== 0) return;
    if (clock.taken === mostSamples) thin(clock);
    if (clock.ended % clock.stride !== 0) return;
    for (let maker = 0; maker < this.counts.length; maker++) {
      let samples = clock.samples[maker];
      if (samples === undefined) {
        if (this.counts[maker] === 0) continue;
        const before = new Array<number>(clock.taken).fill(0);
        clock.samples[maker] = samples = {
          count: before,
          bytes: [...before],
          variance: [...before],
          dip: before.map(() => Number.POSITIVE_INFINITY),
        };
      }
      const before = samples.count.at(-1) ?? 0;
      const least = clock.lows[maker] ?? 0;
      samples.dip.push(least < before ? least : Number.POSITIVE_INFINITY);
      samples.count.push(this.counts[maker]);
      samples.bytes.push(this.bytes[maker]);
      samples.variance.push(this.collected[maker]);
      clock.lows[maker] = this.counts[maker];
    }
    clock.taken++;
  }

  /** Removes the last periods of a kind, because they turned out to be parts of a longer one. */
  takeBack(kind: string, count: number): void {
    const clock = this.clocks.get(kind);
    if (clock === undefined) return;
    clock.ended = Math.max(0, clock.ended - count);
    clock.taken = Math.min(clock.taken, Math.floor(clock.ended / clock.stride));
    for (const samples of clock.samples) {
      if (samples === undefined) continue;
      samples.count.length = clock.taken;
      samples.bytes.length = clock.taken;
      samples.variance.length = clock.taken;
      samples.dip.length = clock.taken;
    }
  }

  /** Returns the number of periods of each kind that have ended, in the order in which the kinds appeared. */
  periods(): ReadonlyMap<string, number> {
    return new Map([...this.clocks].map(([kind, { ended }]) => [kind, ended]));
  }

  /**
   * Returns the number of objects by which an allocation site grows per period of a kind, or 0 if it does not grow over
   * the periods of that kind.
   *
   * @param maker number of the allocation site
   * @param period kind of period, such as `step`
   */
  growthPer(
    period: string,
    maker: number,
    { isLost = false, isPossible = false }: Pick<SeriesNature, "isLost" | "isPossible"> = {},
  ): number {
    const clock = this.clocks.get(period);
    if (clock === undefined) return 0;
    return judgeClock(period, clock, maker, { ...this.aliveOf(maker), isLost, isPossible }).countPerPeriod;
  }

  /**
   * Returns the growth of one allocation site.
   *
   * @param maker number of the allocation site
   * @param options with `isLost`, nothing can reach the objects of the site, so growth in a phase that is over also
   * counts; with `isPossible`, an estimate also grows if chance may explain its rise
   */
  growthOf(
    maker: number,
    { isLost = false, isPossible = false }: Pick<SeriesNature, "isLost" | "isPossible"> = {},
  ): MakerGrowth {
    const now = this.aliveOf(maker);
    const variance = this.variances[maker] ?? 0;
    const alive = { ...now, ...(variance > 0 && { countError: Math.sqrt(variance) }) };
    const all = [...this.clocks]
      .filter(([, { isOver }]) => isLost || !isOver)
      .map(([period, clock]) => ({
        ...alive,
        ...judgeClock(period, clock, maker, { ...now, isLost, isPossible }),
      }));
    // If it grows by several kinds of period, choose the one with a growth closest to one object per period.
    const growing = all
      .filter(({ verdict }) => verdict === "growing")
      .toSorted((a, b) => Math.abs(Math.log(a.countPerPeriod || 1)) - Math.abs(Math.log(b.countPerPeriod || 1)));
    const longest = all.toSorted((a, b) => b.periods - a.periods);
    const judged = growing[0] ?? longest.find(({ verdict }) => verdict === "steady") ?? longest[0];
    return (
      judged ?? {
        ...alive,
        verdict: "too short",
        period: undefined,
        countPerPeriod: 0,
        bytesPerPeriod: 0,
        periods: 0,
      }
    );
  }

  private aliveOf(maker: number): { readonly count: number; readonly bytes: number } {
    return { count: this.counts[maker] ?? 0, bytes: this.bytes[maker] ?? 0 };
  }
}

/** Keeps every second sample, as if the doubled stride had been used from the start. */
function thin(clock: Clock): void {
  const isKept = (_: number, i: number): boolean => i % 2 === 1;
  for (const samples of clock.samples) {
    if (samples === undefined) continue;
    const { count, dip } = samples;
    samples.dip = dip.flatMap((_, i) => (isKept(0, i) ? [mergedDip(dip[i - 1], dip[i], count[i - 2] ?? 0)] : []));
    samples.count = count.filter(isKept);
    samples.bytes = samples.bytes.filter(isKept);
    samples.variance = samples.variance.filter(isKept);
  }
  clock.taken /= 2;
  clock.stride *= 2;
}

function mergedDip(one: number, other: number, before: number): number {
  const least = Math.min(one, other);
  return least < before ? least : Number.POSITIVE_INFINITY;
}

function judgeClock(
  period: string,
  clock: Clock,
  maker: number,
  { count, bytes, ...nature }: { readonly count: number; readonly bytes: number } & SeriesNature,
): Omit<MakerGrowth, "count" | "bytes" | "countError"> {
  const none = new Array<number>(clock.taken).fill(0);
  const samples = clock.samples[maker] ?? { count: none, bytes: none, variance: none, dip: none };
  const lows = samples.count.map((each, i) => Math.min(each, samples.dip[i]));
  const byCount = judgeGrowth(lows, count, { variance: samples.variance, ...nature });
  const isLevel = samples.count.every((each, i) => i === 0 || each <= samples.count[0] + 1);
  const isExact = (samples.variance.at(-1) ?? 0) === 0;
  const byBytes = judgeGrowth(samples.bytes, bytes, { unit: bytes / Math.max(1, count), ...nature });
  return {
    // A tensor that is replaced by a larger one each time grows only in bytes.
    verdict: isExact && isLevel && byBytes.verdict === "growing" ? "growing" : byCount.verdict,
    period,
    countPerPeriod: byCount.perSample / clock.stride,
    bytesPerPeriod: (isExact ? byBytes.perSample : byCount.perSample * (bytes / Math.max(1, count))) / clock.stride,
    periods: byCount.judged * clock.stride,
  };
}
