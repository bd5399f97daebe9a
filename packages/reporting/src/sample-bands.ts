import type { MemoryBands } from "./memory-bands.js";

export interface SampleOptions {
  /** First op to show, and the one after the last; left out: all. */
  readonly from?: number;
  readonly to?: number;
  /** At most this many columns; left out: 1000. */
  readonly buckets?: number;
  /** When each op began, in ms; with it buckets are equal in time, else in ops. One entry more than there are ops: when the last ended. */
  readonly startMs?: Float64Array;
}

/** A stretch of a timeline in few enough columns to be drawn; each shows the op of the bucket at which most was held. */
export interface SampledBands {
  readonly count: number;
  /** By bucket: the op that is shown. */
  readonly op: Int32Array;
  /** By band, by bucket. */
  readonly bands: readonly Float64Array[];
  readonly totalBytes: Float64Array;
  readonly highestBytes: Float64Array;
}

/**
 * Reduces bands to what a screen or terminal can show without losing a peak. A bucket in which no op falls (time passes, nothing changes)
 * repeats the one before.
 *
 * @example
 * const { op, highestBytes } = sampleBands(categoryBands(memoryTimeline(trace)), { buckets: 80 });
 */
export function sampleBands(bands: MemoryBands, options: SampleOptions = {}): SampledBands {
  const { from = 0, to = bands.count, startMs } = options;
  const wanted = Math.max(1, Math.floor(options.buckets ?? 1000));
  const count = startMs === undefined ? Math.min(wanted, Math.max(0, to - from)) : to > from ? wanted : 0;
  const edges = startMs === undefined ? opEdges(from, to, count) : timeEdges(from, to, count, startMs);
  const op = new Int32Array(count);
  const { highestBytes, totalBytes } = bands;
  for (let bucket = 0; bucket < count; bucket++) {
    let best = Math.min(edges[bucket], to - 1);
    if (edges[bucket] === edges[bucket + 1] && bucket > 0) best = op[bucket - 1];
    for (let i = edges[bucket]; i < edges[bucket + 1]; i++) if (highestBytes[i] > highestBytes[best]) best = i;
    op[bucket] = best;
  }
  const pick = (column: Float64Array): Float64Array => Float64Array.from(op, (at) => column[at]);
  return {
    count,
    op,
    bands: bands.bands.map((band) => pick(band.bytes)),
    totalBytes: pick(totalBytes),
    highestBytes: pick(highestBytes),
  };
}

function opEdges(from: number, to: number, count: number): Int32Array {
  return Int32Array.from({ length: count + 1 }, (_, i) => from + Math.floor((i * (to - from)) / Math.max(1, count)));
}

/** The first op that begins at or after each edge; of ops that take no time, all fall into one bucket. */
function timeEdges(from: number, to: number, count: number, startMs: Float64Array): Int32Array {
  const [begin, end] = [startMs[from], startMs[to]];
  const edges = new Int32Array(count + 1);
  for (let i = 0, op = from; i <= count; i++) {
    const edge = begin + ((end - begin) * i) / count;
    while (op < to && startMs[op] < edge) op++;
    edges[i] = i === count ? to : op;
  }
  return edges;
}

/**
 * Tells when each op begins, in ms from the first, if ops run one after the other; one entry more than there are ops. An op without a runtime
 * takes none.
 */
export function opStartMs(runtimeMs: Float64Array): Float64Array {
  const start = new Float64Array(runtimeMs.length + 1);
  for (let op = 0; op < runtimeMs.length; op++)
    start[op + 1] = start[op] + (runtimeMs[op] > 0 && runtimeMs[op] < Number.POSITIVE_INFINITY ? runtimeMs[op] : 0);
  return start;
}
