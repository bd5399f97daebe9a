import type { MemoryTimeline } from "@remat/memory";
import type { OpIndex, Trace } from "@remat/trace";
import type { HeldTree } from "./held-tree/held-tree.js";

/** What a run of the same step holds by op, such as a timeline or a plan's account. */
export interface HeldByOp extends Pick<MemoryTimeline, "count" | "totalBytes" | "highestBytes" | "bytesByCategory"> {
  /** The op at its peak; -1 for none. */
  readonly peakOp: number;
  /** By op: how often it is recomputed. */
  readonly recomputations: Uint16Array;
}

/**
 * Ops of another run beside those of this one: what lies between two that match is spread evenly, so that runs with other ops in between (FSDP's collectives,
 * recomputation, other gradients) line up.
 */
export class AlignedOps {
  /** By op of this run: one more than the last op of the other that it stands for; it stands for those since the op before it. */
  private readonly ends: Int32Array;
  private readonly match: Int32Array;
  /** By op of the other run: the op of this one that stands for it. */
  private readonly standingFor: Int32Array;

  /**
   * @param match by op of this run: see {@link matchOps}
   * @param otherCount how many ops the other has
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

  /** Returns by op of this run the most that the other held since the op before; NaN before its first op. */
  highest({ totalBytes, highestBytes }: Pick<HeldByOp, "totalBytes" | "highestBytes">): Float64Array {
    return Float64Array.from(this.ends, (_, op) => {
      const place = this.placeOf(op, highestBytes);
      return place < 0 ? Number.NaN : (this.standsForAny(op) ? highestBytes : totalBytes)[place];
    });
  }

  /** Returns what the other run holds by ops of this one, each as it is where most is held of what it stands for. */
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

  /** Returns what the other run does with ops, such as the fates of a plan, by ops of this one; 0 for ops that only this one has. */
  carryFates(fates: Uint8Array): Uint8Array {
    return Uint8Array.from(this.match, (op) => fates[op] ?? 0);
  }

  /** Returns the op of the other run at which it is looked at for an op of this one; -1 for the peak stays. */
  opOf(op: OpIndex, { highestBytes }: Pick<HeldByOp, "highestBytes">): number {
    return op < 0 ? -1 : Math.max(0, this.placeOf(op, highestBytes));
  }

  /** Returns a tree of what the other run holds that names ops of this one. */
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

  /** Where most is held of what an op stands for; of nothing, the op that the other has run last, or -1. */
  private placeOf(op: OpIndex, highestBytes: Float64Array): number {
    const end = this.ends[op];
    let place = end - 1;
    for (let at = end - 2; at >= (this.ends[op - 1] ?? 0); at--) if (highestBytes[at] > highestBytes[place]) place = at;
    return place;
  }
}

/** Returns another run's memory at the ops of this one: the most that it held since the op before. */
export function alignHighest(
  trace: Trace,
  other: Trace,
  timeline: Pick<MemoryTimeline, "totalBytes" | "highestBytes">,
): Float64Array {
  return new AlignedOps(matchOps(trace, other), other.ops.count).highest(timeline);
}

/**
 * Returns by op of `trace` the op of `other` that is the same, or -1: the n-th of its kernel, phase and module on both sides, without those that would
 * cross others.
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

/** Keeps of the values that are not -1 as many as rise from one to the next; the others become -1. */
function longestRising(values: Int32Array): Int32Array {
  /** By length, less 1: where the rising row of that length with the smallest end ends. */
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

/** By op: a number for its kernel, phase and innermost module. */
function keysOf(trace: Trace, keys: Map<string, number>): Int32Array {
  const { ops } = trace;
  const known = new Map<number, number>();
  return Int32Array.from({ length: ops.count }, (_, op) => {
    // Distinct for each combination, within the range of exact integers.
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
