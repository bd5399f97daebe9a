import { opsTogether, type SACGreedyOrderMeta } from "./greedy-order.js";
import type { SACStats } from "./sac-stats.js";

export interface GainOptions {
  /**
   * Count an op that is in two groups, such as a random op that is in-place, with both of them, as PyTorch does: memory and time then add up to more
   * than there are. Left out, it is counted once, with the group that comes first.
   */
  readonly asPytorch?: boolean;
}

/** What freeing the results of some ops adds to what was freed before. */
export interface Gain {
  readonly memoryBytes: number;
  readonly runtimeMs: number;
}

/** Adds up what ops give back, with those of the groups that they head, in the order in which they are asked for. */
export function gainsAlong(
  stats: SACStats,
  order: SACGreedyOrderMeta,
  { asPytorch = false }: GainOptions,
): { of(heads: Int32Array): Gain } {
  const counted = new Uint8Array(stats.memoryBytes.length);
  const isHead = new Uint8Array(stats.memoryBytes.length);
  for (const { heads } of [order.inplaceOpGroups, order.randomOpsGroup]) for (const head of heads) isHead[head] = 1;
  return {
    of(heads) {
      const [op] = heads;
      // Most ops stand alone, and there may be a million.
      if (heads.length === 1 && isHead[op] === 0 && counted[op] === 0) {
        counted[op] = 1;
        return { memoryBytes: stats.memoryBytes[op], runtimeMs: stats.runtimesMs[op] };
      }
      const set = new Set<number>();
      for (const head of heads) for (const op of opsTogether(order, head)) set.add(op);
      let memoryBytes = 0;
      let runtimeMs = 0;
      for (const op of Int32Array.from(set).sort()) {
        if (counted[op] === 1 && !asPytorch) continue;
        counted[op] = 1;
        memoryBytes += stats.memoryBytes[op];
        runtimeMs += stats.runtimesMs[op];
      }
      return { memoryBytes, runtimeMs };
    },
  };
}
