import { descendingOrder } from "./descending-order.js";
import { OpGroups } from "./op-groups.js";
import type { SACStats } from "./sac-stats.js";

/** Candidates for recomputation in columns, by descending memory per time. */
export interface MSPSColumns {
  /** Number of candidates. */
  readonly count: number;
  /** The op, or the head of a group of ops that are recomputed together (see {@link opsTogether}). */
  readonly opIdx: Int32Array;
  /** Memory that recomputing it frees, in bytes. */
  readonly memoryBytes: Float64Array;
  /** Time to recompute it, in milliseconds. */
  readonly runtimeMs: Float64Array;
  /** Memory per time, in bytes per millisecond. The largest double if it takes no time. */
  readonly msps: Float64Array;
}

/**
 * PyTorch's `SACGreedyOrderMeta`: the ops that are always recomputed, those that are always stored, and the order in
 * which to recompute the rest.
 */
export interface SACGreedyOrderMeta {
  /** Ops that are always recomputed. */
  readonly recomputedOps: Int32Array;
  /** Ops that are always stored. */
  readonly storedOps: Int32Array;
  /** Groups of in-place ops with the op whose result they modify, which is the head. */
  readonly inplaceOpGroups: OpGroups;
  /**
   * One group with all random ops, whose head is the first. They share one generator, so they are recomputed together
   * or not at all.
   */
  readonly randomOpsGroup: OpGroups;
  /** The candidates, in the order in which to recompute them. */
  readonly mspsMeta: MSPSColumns;
}

/**
 * Returns the order in which to free stored results: by descending memory per time, and by ascending index if the ratio
 * is equal. Ops that only make views are always recomputed. Groups of in-place ops that write to an argument are always
 * stored. Random ops are also always stored if no argument of the module is a tensor (`forceStoreRandom`).
 *
 * Source: `SACEstimator._get_greedy_order_meta` of PyTorch.
 *
 * @example
 * const order = greedyOrder(stats);
 * order.mspsMeta.opIdx[0]; // the best op to recompute
 */
export function greedyOrder(stats: SACStats): SACGreedyOrderMeta {
  const count = stats.memoryBytes.length;
  const isRandom = flags(count, stats.randOps);
  const isRecomputed = flags(count, stats.viewLikeOps);
  const isStored = new Uint8Array(count);
  const isInPlace = new Uint8Array(count);
  for (const op of stats.inplaceOps) isInPlace[op] = 1;
  const inplaceOpGroups = new OpGroups(stats.inplaceOps, stats.inplaceParents, count);
  const randomHead = stats.randOps.length > 0 ? stats.randOps[0] : -1;
  const randomOpsGroup = new OpGroups(
    stats.randOps,
    stats.randOps.map(() => randomHead),
    count,
  );
  if (randomHead >= 0 && stats.forceStoreRandom) isStored[randomHead] = 1;
  for (const [head, ops] of inplaceOpGroups) {
    let random = 0;
    for (const op of ops) random += isRandom[op];
    // Upstream writes `force & len(...) > 0`, which Python evaluates as a test of the lowest bit.
    if (isInPlace[head] === 1 || (stats.forceStoreRandom && random % 2 === 1)) isStored[head] = 1;
  }
  const isCandidate = new Uint8Array(count);
  for (let op = 0; op < count; op++)
    if (!isRecomputed[op] && !isStored[op] && !isInPlace[op] && !isRandom[op]) isCandidate[op] = 1;
  for (const head of inplaceOpGroups.heads) if (!isStored[head]) isCandidate[head] = 1;
  if (randomHead >= 0 && !isStored[randomHead]) isCandidate[randomHead] = 1;
  const candidates = indicesOf(isCandidate);
  return {
    recomputedOps: stats.viewLikeOps,
    storedOps: indicesOf(isStored),
    inplaceOpGroups,
    randomOpsGroup,
    mspsMeta: sortByMsps(stats, candidates, inplaceOpGroups, randomOpsGroup),
  };
}

/**
 * Returns the ops that are stored or recomputed together with `op`, ascending: `op` itself, and the in-place and random
 * groups of which it is the head.
 */
export function opsTogether(
  { inplaceOpGroups, randomOpsGroup }: Pick<SACGreedyOrderMeta, "inplaceOpGroups" | "randomOpsGroup">,
  op: number,
): Int32Array {
  const inPlace = inplaceOpGroups.size === 0 ? undefined : inplaceOpGroups.get(op);
  const random = randomOpsGroup.size === 0 ? undefined : randomOpsGroup.get(op);
  if (inPlace === undefined || random === undefined) return inPlace ?? random ?? Int32Array.of(op);
  return Int32Array.from(new Set([...inPlace, ...random])).sort();
}

function sortByMsps(
  stats: SACStats,
  candidates: Int32Array,
  inplaceOpGroups: OpGroups,
  randomOpsGroup: OpGroups,
): MSPSColumns {
  const count = candidates.length;
  const memory = new Float64Array(count);
  const runtime = new Float64Array(count);
  const msps = new Float64Array(count);
  const groups = { inplaceOpGroups, randomOpsGroup };
  const isHead = flags(stats.memoryBytes.length, inplaceOpGroups.heads, randomOpsGroup.heads);
  const { memoryBytes, runtimesMs } = stats;
  for (let i = 0; i < count; i++) {
    const candidate = candidates[i];
    if (isHead[candidate] === 1) {
      const ops = opsTogether(groups, candidate);
      for (let k = 0; k < ops.length; k++) {
        memory[i] += memoryBytes[ops[k]];
        runtime[i] += runtimesMs[ops[k]];
      }
    } else {
      memory[i] = memoryBytes[candidate];
      runtime[i] = runtimesMs[candidate];
    }
    msps[i] = runtime[i] > 0 ? memory[i] / runtime[i] : Number.MAX_VALUE;
  }
  const order = descendingOrder(msps);
  const sorted: MSPSColumns = {
    count,
    opIdx: new Int32Array(count),
    memoryBytes: new Float64Array(count),
    runtimeMs: new Float64Array(count),
    msps: new Float64Array(count),
  };
  for (let place = 0; place < count; place++) {
    const i = order[place];
    sorted.opIdx[place] = candidates[i];
    sorted.memoryBytes[place] = memory[i];
    sorted.runtimeMs[place] = runtime[i];
    sorted.msps[place] = msps[i];
  }
  return sorted;
}

function flags(count: number, ...lists: readonly Int32Array[]): Uint8Array {
  const set = new Uint8Array(count);
  for (const list of lists) for (const index of list) set[index] = 1;
  return set;
}

function indicesOf(set: Uint8Array): Int32Array {
  let count = 0;
  for (let i = 0; i < set.length; i++) count += set[i];
  const indices = new Int32Array(count);
  for (let i = 0, at = 0; i < set.length; i++) if (set[i] === 1) indices[at++] = i;
  return indices;
}
