import { type MemoryTimeline, memoryTimeline } from "@remat/memory";
import type { Trace } from "@remat/trace";

/**
 * Returns another run's memory at the ops of this one: the most that it held since the op before. Ops are matched in order, by kernel, phase and
 * module; what lies between two matches is spread evenly, so that runs with other ops in between (FSDP's collectives, recomputation) line up.
 */
export function alignHighest(
  trace: Trace,
  other: Trace,
  timeline: Pick<MemoryTimeline, "totalBytes" | "highestBytes"> = memoryTimeline(other),
): Float64Array {
  const match = matchOps(trace, other);
  const highest = new Float64Array(trace.ops.count).fill(Number.NaN);
  let from = -1;
  let fromOther = -1;
  for (let op = 0; op <= trace.ops.count; op++) {
    const found = op === trace.ops.count ? other.ops.count : match[op];
    if (found < 0) continue;
    // Ops after the last match and up to this one share the other's ops in the same stretch.
    for (let at = from + 1; at <= Math.min(op, trace.ops.count - 1); at++) {
      const begin = fromOther + 1 + Math.floor(((at - from - 1) * (found - fromOther)) / (op - from));
      const end = fromOther + 1 + Math.floor(((at - from) * (found - fromOther)) / (op - from));
      let most = begin < end ? 0 : timeline.totalBytes[Math.min(begin, other.ops.count) - 1];
      for (let i = begin; i < Math.min(end, other.ops.count); i++)
        if (timeline.highestBytes[i] > most) most = timeline.highestBytes[i];
      highest[at] = most ?? Number.NaN;
    }
    from = op;
    fromOther = found;
  }
  return highest;
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
