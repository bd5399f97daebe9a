import type { MemoryTimeline } from "@remat/memory";
import type { OpIndex, Trace } from "@remat/trace";
import type { HeldTree } from "./held-tree/held-tree.js";

/** Memory of another run of the same step, per op: a timeline, or the simulation of a plan. */
export interface HeldByOp extends Pick<MemoryTimeline, "count" | "totalBytes" | "highestBytes" | "bytesByCategory"> {
  /** The op at which memory peaks, or -1 if none exists. */
  readonly peakOp: number;
  /** For each op, how many times it is recomputed. */
  readonly recomputations: Uint16Array;
}

/**
 * Maps the ops of another run of the same step onto the ops of this one. Ops between two matches are spread evenly, so
 * that runs with extra ops (FSDP's collectives, recomputation, different gradients) line up.
 */
export class AlignedOps {
  /**
   * For each op of this run: one past the last op of the other run that maps to it. The range starts at the previous
   * entry.
   */
  private readonly ends: Int32Array;
  private readonly match: Int32Array;
  /** For each op of the other run: the op of this run that it maps to. */
  private readonly standingFor: Int32Array;

  /**
   * @param match for each op of this run, its match in the other run: see {@link matchOps}
   * @param otherCount number of ops in the other run
   */
  constructor(match: Int32Array, otherCount: number) {
    this.match = match;
    this.ends = new Int32Array(match.length);
    const { ends } = this;
    const last = ends.length - 1;
    let from = -1;
    let begin = 0;
    const spread = (op: OpIndex, end: number): void => {
      for (let at = from + 1; at <= op; at++)
        ends[at] = begin + Math.floor(((at - from) * (end - begin)) / (op - from));
      from = op;
      begin = end;
    };
    for (const [op, found] of match.entries()) if (found >= 0) spread(op, found + 1);
    if (from < last) spread(last, otherCount);
    else ends[last] = otherCount;
    this.standingFor = new Int32Array(otherCount);
    for (let op = 0, at = 0; op < ends.length; op++) while (at < ends[op]) this.standingFor[at++] = op;
  }

  /**
   * Returns, for each op of this run, the other run's highest memory since the previous op. It is NaN before the other
   * run's first op.
   */
  highest({ totalBytes, highestBytes }: Pick<HeldByOp, "totalBytes" | "highestBytes">): Float64Array {
    return Float64Array.from(this.ends, (_, op) => {
      const place = this.placeOf(op, highestBytes);
      return place < 0 ? Number.NaN : (this.standsForAny(op) ? highestBytes : totalBytes)[place];
    });
  }

  /**
   * Returns the other run's memory per op of this run. If several ops map to one op, its value is that of the op with
   * the highest memory.
   */
  carry(other: HeldByOp): HeldByOp {
    const { totalBytes, highestBytes, bytesByCategory, peakOp, recomputations } = other;
    const places = this.ends.map((_, op) => Math.max(0, this.placeOf(op, highestBytes)));
    const at = (column: Float64Array): Float64Array => Float64Array.from(places, (place) => column[place]);
    return {
      count: places.length,
      totalBytes: at(totalBytes),
      highestBytes: this.highest(other).map((bytes, op) => (bytes >= 0 ? bytes : totalBytes[places[op]])),
      bytesByCategory: new Map(Array.from(bytesByCategory, ([category, column]) => [category, at(column)])),
      peakOp: peakOp < 0 ? -1 : this.standingFor[peakOp],
      recomputations: Uint16Array.from(this.match, (op) => recomputations[op] ?? 0),
    };
  }

  /**
   * Transfers values per op of the other run, such as a plan's fates, to the ops of this run. Ops without a match get
   * 0.
   */
  carryFates(fates: Uint8Array): Uint8Array {
    return Uint8Array.from(this.match, (op) => fates[op] ?? 0);
  }

  /** Returns the op of the other run that represents an op of this run. -1 (the peak) stays -1. */
  opOf(op: OpIndex, { highestBytes }: Pick<HeldByOp, "highestBytes">): number {
    return op < 0 ? -1 : Math.max(0, this.placeOf(op, highestBytes));
  }

  /** Returns a memory tree of the other run with its ops renumbered to those of this run. */
  carryTree(tree: HeldTree): HeldTree {
    const named = (ops: Int32Array): Int32Array =>
      ops.map((op) => (op < 0 ? -1 : (this.standingFor[op] ?? this.ends.length)));
    const { held, lastOp, freedBefore } = tree;
    return {
      ...tree,
      held: { ...held, maker: named(held.maker) },
      lastOp: named(lastOp),
      freedBefore: named(freedBefore),
      opCount: this.ends.length,
    };
  }

  private standsForAny(op: OpIndex): boolean {
    return this.ends[op] > (this.ends[op - 1] ?? 0);
  }

  /**
   * Returns the op with the highest memory among the ops that map to `op`. If none map to it, returns the op that the
   * other run executed last, or -1.
   */
  private placeOf(op: OpIndex, highestBytes: Float64Array): number {
    const end = this.ends[op];
    let place = end - 1;
    for (let at = end - 2; at >= (this.ends[op - 1] ?? 0); at--) if (highestBytes[at] > highestBytes[place]) place = at;
    return place;
  }
}

/** Returns another run's memory at the ops of this run: the highest since the previous op. */
export function alignHighest(
  trace: Trace,
  other: Trace,
  timeline: Pick<MemoryTimeline, "totalBytes" | "highestBytes">,
): Float64Array {
  return new AlignedOps(matchOps(trace, other), other.ops.count).highest(timeline);
}

/**
 * Returns, for each op of `trace`, the matching op of `other`, or -1. The n-th op of a kernel, phase and module matches
 * the n-th such op of the other run. Matches that would cross other matches are dropped.
 */
export function matchOps(trace: Trace, other: Trace): Int32Array {
  const keys = new Map<string, number>();
  const mine = keysOf(trace, keys);
  const theirs = keysOf(other, keys);
  const places = Array.from({ length: keys.size }, (): number[] => []);
  for (const [op, key] of theirs.entries()) places[key].push(op);
  const next = new Int32Array(keys.size);
  const match = mine.map((key) => places[key][next[key]++] ?? -1);
  return longestRising(match);
}

/** Keeps a longest increasing subsequence of the values other than -1 and sets the others to -1. */
function longestRising(values: Int32Array): Int32Array {
  /**
   * For each length minus one: the index at which the increasing subsequence of that length with the smallest last
   * value ends.
   */
  const ends: number[] = [];
  const before = new Int32Array(values.length).fill(-1);
  for (let i = 0; i < values.length; i++) {
    if (values[i] < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (values[ends[middle]] < values[i]) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[i] = ends[low - 1];
    ends[low] = i;
  }
  const kept = new Int32Array(values.length).fill(-1);
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) kept[i] = values[i];
  return kept;
}

/** For each op: a number for its combination of kernel, phase and innermost module. */
function keysOf(trace: Trace, keys: Map<string, number>): Int32Array {
  const { ops } = trace;
  const known = new Map<number, number>();
  return Int32Array.from({ length: ops.count }, (_, op) => {
    // Unique for each combination and within the range of exact integers.
    const local = (ops.name[op] * 8 + ops.phase[op]) * 2 ** 24 + ops.stack[op];
    let key = known.get(local);
    if (key === undefined) {
      const text = `${ops.phase[op]} ${trace.opName(op)} ${trace.opModule(op)?.fqn ?? ""}`;
      key = keys.get(text) ?? keys.size;
      keys.set(text, key);
      known.set(local, key);
    }
    return key;
  });
}
