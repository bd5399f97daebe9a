import { opsTogether, type SACGreedyOrderMeta, type SACStats, type SACTradeOffStats } from "@remat/sac-core";

/** A point: share of memory freed, share of the forward pass recomputed. */
export type TradeOffPoint = readonly [freed: number, recomputed: number];

/** A fitted straight piece: `recomputed = slope * (freed + 0.01) + intercept`, as PyTorch counts from 0.01. */
export interface TradeOffPiece {
  /** Left end. */
  readonly from: TradeOffPoint;
  /** Right end. */
  readonly to: TradeOffPoint;
  readonly slope: number;
  readonly intercept: number;
}

/** A module's trade-off between memory and time, ready to draw. */
export interface TradeOffView {
  readonly memoryBytes: number;
  readonly runtimeMs: number;
  readonly points: readonly TradeOffPoint[];
  /**
   * The points, each with the memory of its left neighbour. The pieces are fitted to these points, which are the
   * corners of the steps.
   */
  readonly shifted: readonly TradeOffPoint[];
  readonly pieces: readonly TradeOffPiece[];
  /** Sum of squared differences between pieces and shifted points. */
  readonly residual: number;
}

/** PyTorch shifts its curve to the right by this much. */
const delta = 0.01;

/**
 * Returns a trade-off curve as points and fitted pieces, with freed memory counted from 0. A curve with more than
 * `limit` points (2000 by default) is thinned. Each stretch keeps the point that is furthest from the line between its
 * neighbours.
 *
 * @example
 * const view = viewTradeOff(tradeOff(stats, greedyOrder(stats)));
 */
export function viewTradeOff(stats: SACTradeOffStats, limit = 2000): TradeOffView {
  const { discardedMemory, recomputationTime } = stats.tradeoffCurve;
  const points: TradeOffPoint[] = Array.from(discardedMemory, (x, i) => [x - delta, recomputationTime[i]]);
  const shifted: TradeOffPoint[] = points.slice(1).map(([, y], i) => [points[i][0], y]);
  const at = (x: number, piece: number): TradeOffPoint => [
    x - delta,
    stats.slopes[piece] * x + stats.intercepts[piece],
  ];
  return {
    memoryBytes: stats.sacMemoryBytes,
    runtimeMs: stats.sacRuntimeMs,
    points: thin(points, limit),
    shifted: thin(shifted, limit),
    pieces: stats.slopes.map((slope, i) => ({
      from: at(stats.fitBreaks[i], i),
      to: at(stats.fitBreaks[i + 1], i),
      slope,
      intercept: stats.intercepts[i],
    })),
    residual: stats.fitResidual,
  };
}

/** Largest-triangle thinning: keeps one point for each of `limit` stretches, and always the first and the last. */
function thin(points: readonly TradeOffPoint[], limit: number): readonly TradeOffPoint[] {
  if (points.length <= limit || limit < 3) return points;
  const kept = [points[0]];
  const stretch = (points.length - 2) / (limit - 2);
  for (let i = 0; i < limit - 2; i++) {
    const from = 1 + Math.floor(i * stretch);
    const to = 1 + Math.floor((i + 1) * stretch);
    const [ax, ay] = kept[kept.length - 1];
    const [cx, cy] = points[Math.min(points.length - 1, to)];
    let best = from;
    let largest = -1;
    for (let p = from; p < to; p++) {
      const [x, y] = points[p];
      const area = Math.abs((ax - cx) * (y - ay) - (ax - x) * (cy - ay));
      if (area > largest) [best, largest] = [p, area];
    }
    kept.push(points[best]);
  }
  kept.push(points[points.length - 1]);
  return kept;
}

/** The possible decisions of a policy about an op. The last two are for ops without a choice. */
export const OpFate = { stored: 0, recomputed: 1, alwaysStored: 2, alwaysRecomputed: 3 } as const;
/** Name of a fate of {@link OpFate}. */
export type OpFateName = keyof typeof OpFate;
/** Names of fates, by number. */
export const opFateNames: readonly OpFateName[] = ["stored", "recomputed", "alwaysStored", "alwaysRecomputed"];

/** The decisions of a policy under a budget about the ops of a module, and their cost. */
export interface PolicyView {
  /** For each op of the statistics: {@link OpFate}. */
  readonly fate: Uint8Array;
  readonly budgetBytes: number;
  /** Bytes of the results that stay stored. */
  readonly storedBytes: number;
  /** Time to recompute the other results, in milliseconds. */
  readonly recomputationMs: number;
  /** For each {@link OpFate}: the number of ops, their bytes and their ms. */
  readonly totals: readonly { readonly ops: number; readonly bytes: number; readonly ms: number }[];
  /** True if the stored results fit the budget. Results that must be stored may already exceed it. */
  readonly fits: boolean;
}

/**
 * Follows the greedy order until the stored results fit `budgetBytes`.
 *
 * @example
 * const { fate, recomputationMs } = greedyPolicy(stats, greedyOrder(stats), 0.5 * totalBytes);
 */
export function greedyPolicy(stats: SACStats, order: SACGreedyOrderMeta, budgetBytes: number): PolicyView {
  const fate = fixedFates(stats, order);
  let stored = 0;
  for (let op = 0; op < fate.length; op++) if (fate[op] !== OpFate.alwaysRecomputed) stored += stats.memoryBytes[op];
  const { mspsMeta } = order;
  for (let i = 0; i < mspsMeta.count && stored > budgetBytes; i++) {
    stored -= mspsMeta.memoryBytes[i];
    for (const op of opsTogether(order, mspsMeta.opIdx[i])) fate[op] = OpFate.recomputed;
  }
  return sumUp(stats, fate, budgetBytes);
}

/**
 * Returns a policy from another method in the same form.
 *
 * @param isStored for each op: 1 if stored, as returned by `planModule` of `@remat/planner`
 */
export function policyOf(
  stats: SACStats,
  order: SACGreedyOrderMeta,
  budgetBytes: number,
  isStored: Uint8Array,
): PolicyView {
  const fate = fixedFates(stats, order);
  for (let op = 0; op < fate.length; op++)
    if (isStored[op] === 0 && fate[op] === OpFate.stored) fate[op] = OpFate.recomputed;
  return sumUp(stats, fate, budgetBytes);
}

function fixedFates(stats: SACStats, order: SACGreedyOrderMeta): Uint8Array {
  const fate = new Uint8Array(stats.memoryBytes.length);
  for (const op of order.recomputedOps) fate[op] = OpFate.alwaysRecomputed;
  for (const head of order.storedOps) for (const op of opsTogether(order, head)) fate[op] = OpFate.alwaysStored;
  return fate;
}

function sumUp(stats: SACStats, fate: Uint8Array, budgetBytes: number): PolicyView {
  const totals = opFateNames.map(() => ({ ops: 0, bytes: 0, ms: 0 }));
  for (let op = 0; op < fate.length; op++) {
    const total = totals[fate[op]];
    total.ops++;
    total.bytes += stats.memoryBytes[op];
    total.ms += stats.runtimesMs[op];
  }
  const storedBytes = totals[OpFate.stored].bytes + totals[OpFate.alwaysStored].bytes;
  return {
    fate,
    budgetBytes,
    storedBytes,
    recomputationMs: totals[OpFate.recomputed].ms + totals[OpFate.alwaysRecomputed].ms,
    totals,
    fits: storedBytes <= budgetBytes,
  };
}
