import type { BrokenLine } from "./fit/least-squares.js";
import { fitPiecewiseLinear } from "./fit-piecewise-linear.js";
import { opsTogether, type SACGreedyOrderMeta } from "./greedy-order.js";
import type { SACStats } from "./sac-stats.js";

/** Points of a trade-off curve, in ascending order. */
export interface TradeoffCurve {
  /** Memory given up over all memory, plus 0.01. */
  readonly discardedMemory: Float64Array;
  /** Time spent on recomputing it over the time of the whole forward pass. */
  readonly recomputationTime: Float64Array;
}

/** PyTorch's `SACTradeOffStats`. */
export interface SACTradeOffStats {
  /** Segments of the fitted line. */
  readonly nSegments: number;
  readonly slopes: readonly number[];
  readonly intercepts: readonly number[];
  /** One more than there are segments. */
  readonly fitBreaks: readonly number[];
  /** Sum of squared differences between the line and the points it was fitted to. */
  readonly fitResidual: number;
  readonly tradeoffCurve: TradeoffCurve;
  readonly sacMemoryBytes: number;
  readonly sacRuntimeMs: number;
}

/** Added to the memory axis, so that no point is at 0. */
const delta = 1e-2;

/**
 * What recomputation costs for the memory it gives back, along the greedy order, and a broken line that bounds it: fitted to the curve
 * with every point moved to its left neighbour's memory. Segments are as many as asked for, but at most two fewer than the curve has
 * points to fit, and at least one.
 *
 * PyTorch raises or answers NaN where ours goes on: without memory (or time) each share of it is 0, and a curve of one point gets
 * a flat line.
 *
 * Source: `SACEstimator._get_sac_tradeoff_pwlf_stats` of PyTorch; the fit is exact, see {@link fitPiecewiseLinear}.
 *
 * @example
 * const { slopes, intercepts, fitBreaks } = tradeOff(stats, greedyOrder(stats), { nSegments: 2 });
 */
export function tradeOff(
  stats: SACStats,
  order: SACGreedyOrderMeta,
  options: { readonly nSegments?: number } = {},
): SACTradeOffStats {
  const sacMemoryBytes = sum(stats.memoryBytes);
  const sacRuntimeMs = sum(stats.runtimesMs);
  const tradeoffCurve = curveOf(stats, order, sacMemoryBytes, sacRuntimeMs);
  const x = tradeoffCurve.discardedMemory.subarray(0, -1);
  const y = tradeoffCurve.recomputationTime.subarray(1);
  const nSegments = Math.max(Math.min(x.length - 2, options.nSegments ?? 2), 1);
  const fit: BrokenLine =
    x.length > 0
      ? fitPiecewiseLinear(x, y, nSegments)
      : fitPiecewiseLinear(tradeoffCurve.discardedMemory, tradeoffCurve.recomputationTime, 1);
  return {
    nSegments: fit.slopes.length,
    slopes: fit.slopes,
    intercepts: fit.intercepts,
    fitBreaks: fit.breaks,
    fitResidual: fit.residualSumOfSquares,
    tradeoffCurve,
    sacMemoryBytes,
    sacRuntimeMs,
  };
}

function curveOf(stats: SACStats, order: SACGreedyOrderMeta, memory: number, runtime: number): TradeoffCurve {
  const { mspsMeta } = order;
  const x = new Float64Array(mspsMeta.count + 2);
  const y = new Float64Array(mspsMeta.count + 2);
  let length = 0;
  const point = (discarded: number, recomputed: number): void => {
    const at = share(discarded, memory) + delta;
    // Several steps with no memory between them: the last one counts.
    if (length === 0 || x[length - 1] !== at) x[length++] = at;
    y[length - 1] = share(recomputed, runtime);
  };
  let [discarded, recomputed] = totals(stats, withGroups(stats, order, order.recomputedOps));
  point(discarded, recomputed);
  for (let i = 0; i < mspsMeta.count; i++) {
    discarded += mspsMeta.memoryBytes[i];
    recomputed += mspsMeta.runtimeMs[i];
    point(discarded, recomputed);
  }
  const [storedMemory, storedRuntime] = totals(stats, withGroups(stats, order, order.storedOps));
  point(discarded + storedMemory, recomputed + storedRuntime);
  return { discardedMemory: x.slice(0, length), recomputationTime: y.slice(0, length) };
}

/** Which ops are among `ops` or in a group that one of them heads. */
function withGroups(stats: SACStats, order: SACGreedyOrderMeta, ops: Int32Array): Uint8Array {
  const set = new Uint8Array(stats.memoryBytes.length);
  for (const op of ops) for (const member of opsTogether(order, op)) set[member] = 1;
  return set;
}

function totals(stats: SACStats, set: Uint8Array): [memoryBytes: number, runtimeMs: number] {
  let memory = 0;
  let runtime = 0;
  for (let op = 0; op < set.length; op++) {
    if (set[op] === 0) continue;
    memory += stats.memoryBytes[op];
    runtime += stats.runtimesMs[op];
  }
  return [memory, runtime];
}

/** Part over whole; of nothing every share is 0. */
export function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

export function sum(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}
