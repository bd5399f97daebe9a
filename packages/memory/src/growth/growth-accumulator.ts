import { type GrowthVerdict, judgeGrowth, type SeriesNature } from "./judge-growth.js";

/** What one maker has that is alive, and whether it grows. */
export interface MakerGrowth {
  /** Alive now; an estimate if some of them stood for several. */
  readonly count: number;
  readonly bytes: number;
  /** Standard error of `count`; left out if that is exact. */
  readonly countError?: number;
  readonly verdict: GrowthVerdict;
  /** The kind of period that tells most of it; undefined where none has ended. */
  readonly period: string | undefined;
  /** Growth per such period; 0 unless it grows. */
  readonly countPerPeriod: number;
  readonly bytesPerPeriod: number;
  /** How many such periods were judged, those of the warm-up left out. */
  readonly periods: number;
}

/** Samples that are kept of a maker and a kind of period: when there are as many, every other goes, and half as many are taken. */
const mostSamples = 64;

/** Counts and bytes of one maker at the end of the sampled periods, and the variance that the count had collected. */
interface Samples {
  count: number[];
  bytes: number[];
  variance: number[];
  /** The least count since the sample before, if it was below that, else infinite: a buffer may be emptied and filled again within a period. */
  dip: number[];
}

/** Of things that were drawn with a probability of one in `weight`, each standing for as many. */
const varianceOf = (weight: number): number => weight * (weight - 1);

/** After so many periods of a higher kind what came before them is over: as few say whether something grows. */
const fewestAfter = 4;

/** The periods of one kind. */
class Clock {
  readonly rank: number;
  /** By maker: the least count since the last sample. */
  readonly lows: number[];
  ended = 0;
  /** Periods of higher kinds since the last of this one, and most that there were between two of these. */
  since = 0;
  longest = 0;
  stride = 1;
  taken = 0;
  /** By maker; none of one of which nothing has ever been alive. */
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
 * Counts what is alive by maker (a line, an op: whatever the caller numbers), and judges at the end of periods which makers' tensors outlive theirs and
 * grow. Only what lives and {@link mostSamples} samples of it are kept, however many periods there are.
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
  /** By maker: the variance of its count, and all that has been added to it as things came and went. */
  private readonly variances: number[] = [];
  private readonly collected: number[] = [];
  private readonly clocks = new Map<string, Clock>();

  /**
   * @param kinds the lowest first, of which a phase of the program may be but to prepare for one of a higher kind: data are loaded, features computed, then
   * it is trained. What it leaves is judged no more once that goes on. A kind that is not among them is higher than all.
   */
  constructor(kinds: readonly string[] = []) {
    this.kinds = kinds;
  }

  /**
   * Something was allocated. Makers are numbered from 0. If only one in `weight` of a maker's things is counted, drawn at random, each stands for as many:
   * then growth is told only if it is beyond what chance explains.
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

  /** The same thing, of the same weight, was freed. */
  freed(maker: number, bytes: number, weight = 1): void {
    const count = (this.counts[maker] -= weight);
    this.bytes[maker] -= weight * bytes;
    for (const { lows } of this.clocks.values()) if (count < (lows[maker] ?? 0)) lows[maker] = count;
    if (weight === 1) return;
    this.variances[maker] -= varianceOf(weight);
    this.collected[maker] += varianceOf(weight);
  }

  /** A period of a kind is over: a training step, a call of `predict`, one that the program marks. */
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

  /** The last periods of a kind were none: they were parts of a longer one. */
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

  /** How many periods of each kind have ended, in the order in which the kinds came. */
  periods(): ReadonlyMap<string, number> {
    return new Map([...this.clocks].map(([kind, { ended }]) => [kind, ended]));
  }

  /**
   * Growth of one maker. If nothing can reach what it made (`isLost`), growth in a phase that is over counts, since no later phase has a use for it. With
   * `isPossible`, an estimate also grows if chance may explain its rise.
   */
  growthOf(
    maker: number,
    { isLost = false, isPossible = false }: Pick<SeriesNature, "isLost" | "isPossible"> = {},
  ): MakerGrowth {
    const [count, bytes] = [this.counts[maker] ?? 0, this.bytes[maker] ?? 0];
    const variance = this.variances[maker] ?? 0;
    const alive = { count, bytes, ...(variance > 0 && { countError: Math.sqrt(variance) }) };
    const all = [...this.clocks]
      .filter(([, { isOver }]) => isLost || !isOver)
      .map(([period, clock]) => ({
        ...alive,
        ...judgeClock(period, clock, maker, { count, bytes, isLost, isPossible }),
      }));
    // Of several kinds of period that it grows by, the one in which it is nearest to one at a time.
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
}

/** Keeps every other sample: of the periods that the doubled stride would have taken. */
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
    // One tensor that is replaced by a larger one each time grows in bytes alone.
    verdict: isExact && isLevel && byBytes.verdict === "growing" ? "growing" : byCount.verdict,
    period,
    countPerPeriod: byCount.perSample / clock.stride,
    bytesPerPeriod: (isExact ? byBytes.perSample : byCount.perSample * (bytes / Math.max(1, count))) / clock.stride,
    periods: byCount.judged * clock.stride,
  };
}
