import { type MemoryBands, opStartMs, type SampledBands, sampleBands } from "@remat/reporting";
import type { Overview } from "../engine/answers.js";

/** A range of ops, in units of the axis. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Converts between ops, positions on the axis and buckets. Caches data for fast sampling. */
export class TimelineAxis {
  readonly count: number;
  private readonly startMs: Float64Array;

  constructor({ ops }: Overview) {
    this.count = ops.count;
    this.startMs = ops.startMs.length > 0 ? ops.startMs : opStartMs(ops.runtimeMs);
  }

  get hasTime(): boolean {
    return this.startMs[this.count] > 0;
  }

  sample(bands: MemoryBands, { from, to }: Stretch, buckets: number, axis: "ops" | "time"): SampledBands {
    return sampleBands(bands, { from, to, buckets, ...(axis === "time" && { startMs: this.startMs }) });
  }

  /** Returns the highest values of one column, in the same buckets. */
  sampleColumn(column: Float64Array, stretch: Stretch, buckets: number, axis: "ops" | "time"): Float64Array {
    const bands: MemoryBands = {
      by: "category",
      count: column.length,
      bands: [],
      totalBytes: column,
      highestBytes: column,
    };
    return this.sample(bands, stretch, buckets, axis).highestBytes;
  }

  /** Start of an op, as a share of the range. */
  placeOf(op: number, { from, to }: Stretch, axis: "ops" | "time"): number {
    if (axis === "ops") return (op - from) / Math.max(1, to - from);
    const width = this.startMs[to] - this.startMs[from];
    return width > 0 ? (this.startMs[op] - this.startMs[from]) / width : 0;
  }

  /** The op at a share of the range. */
  opAt(share: number, { from, to }: Stretch, axis: "ops" | "time"): number {
    const clamp = (op: number): number => Math.min(Math.max(from, op), Math.max(from, to - 1));
    if (axis === "ops") return clamp(Math.floor(from + share * (to - from)));
    const wanted = this.startMs[from] + share * (this.startMs[to] - this.startMs[from]);
    let low = from;
    let high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.startMs[middle + 1] <= wanted) low = middle + 1;
      else high = middle;
    }
    return clamp(low);
  }

  msAt(op: number): number {
    return this.startMs[op];
  }
}

/** Returns ranges of one phase as shares of the width. By bucket if there are too many to see. */
export function phaseStretches(
  { ops }: Overview,
  sample: SampledBands,
  labels: readonly string[],
): { readonly phase: number; readonly label: string; readonly from: number; readonly to: number }[] {
  const stretches: { phase: number; label: string; from: number; to: number }[] = [];
  for (let i = 0; i < sample.count; i++) {
    const phase = ops.phase[sample.op[i]];
    const last = stretches.at(-1);
    if (last?.phase === phase) last.to = (i + 1) / sample.count;
    else stretches.push({ phase, label: labels[phase], from: i / sample.count, to: (i + 1) / sample.count });
  }
  return stretches;
}
