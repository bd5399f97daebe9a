import type { MemoryBands } from "./memory-bands.js";

/** Options of {@link sampleBands}. */
export interface SampleOptions {
  /** First op to show. Default: the first of the trace. */
  readonly from?: number;
  /** End of the range (exclusive). Default: the number of ops. */
  readonly to?: number;
  /** Maximum number of columns (1000 by default). */
  readonly buckets?: number;
  /**
   * Start time of each op in ms, with one extra entry for the end of the last op. If given, buckets have equal times,
   * otherwise equal numbers of ops.
   */
  readonly startMs?: Float64Array;
}

/**
 * A range of a timeline, reduced to few enough columns to draw. Each column shows the op with the highest memory in its
 * bucket.
 */
export interface SampledBands {
  /** Number of buckets. */
  readonly count: number;
  /** For each bucket: the op that is shown. */
  readonly op: Int32Array;
  /** Bytes by band, then by bucket. */
  readonly bands: readonly Float64Array[];
  /** For each bucket: sum of all bands. */
  readonly totalBytes: Float64Array;
  /** For each bucket: highest memory since the previous op. */
  readonly highestBytes: Float64Array;
}

/**
 * Reduces bands to the resolution of a screen or terminal without losing a peak. A bucket in which no op starts (time
 * passes, nothing changes) repeats the previous one.
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

/** Returns the first op that begins at or after each edge. If ops take no time, all fall into one bucket. */
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
 * Returns the start of each op, in ms after the first, if ops run one after the other. There is one extra entry for the
 * end. An op without a runtime takes no time.
 */
export function opStartMs(runtimeMs: Float64Array): Float64Array {
  const start = new Float64Array(runtimeMs.length + 1);
  for (let op = 0; op < runtimeMs.length; op++)
    start[op + 1] = start[op] + (runtimeMs[op] > 0 && runtimeMs[op] < Number.POSITIVE_INFINITY ? runtimeMs[op] : 0);
  return start;
}
