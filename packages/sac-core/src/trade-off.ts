import type { BrokenLine } from "./fit/least-squares.js";
import { fitPiecewiseLinear } from "./fit-piecewise-linear.js";
import { type GainOptions, GainsAlong } from "./gains-along.js";
import type { SACGreedyOrderMeta } from "./greedy-order.js";
import type { SACStats } from "./sac-stats.js";

/** Points of a trade-off curve, in ascending order. */
export interface TradeoffCurve {
  /** Memory freed over all memory, plus 0.01. */
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

export interface TradeOffOptions extends GainOptions {
  /** Pieces to fit; 2 if not given. */
  readonly nSegments?: number;
}

/** Added to the memory axis, so that no point is at 0. */
const delta = 1e-2;

/**
 * Returns what recomputation costs for the memory it gives back, along the greedy order, and a broken line that bounds it: fitted to the curve
 * with every point moved to its left neighbour's memory. Segments are as many as asked for, but at most two fewer than the curve has
 * points to fit, and at least one.
 *
 * PyTorch raises or answers NaN where ours goes on: without memory (or time) each share of it is 0, and a curve of one point gets
 * a flat line.
 *
 * An op that is in two groups (in-place and random) is counted with the first, so that the curve ends at all memory and all time; with
 * `asPytorch` with both.
 *
 * Source: `SACEstimator._get_sac_tradeoff_pwlf_stats` of PyTorch; the fit is exact, see {@link fitPiecewiseLinear}.
 *
 * @example
 * const { slopes, intercepts, fitBreaks } = tradeOff(stats, greedyOrder(stats), { nSegments: 2 });
 */
export function tradeOff(stats: SACStats, order: SACGreedyOrderMeta, options: TradeOffOptions = {}): SACTradeOffStats {
  const sacMemoryBytes = sum(stats.memoryBytes);
  const sacRuntimeMs = sum(stats.runtimesMs);
  const tradeoffCurve = curveOf(stats, order, sacMemoryBytes, sacRuntimeMs, options);
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

function curveOf(
  stats: SACStats,
  order: SACGreedyOrderMeta,
  memory: number,
  runtime: number,
  options: GainOptions,
): TradeoffCurve {
  const { mspsMeta } = order;
  const x = new Float64Array(mspsMeta.count + 2);
  const y = new Float64Array(mspsMeta.count + 2);
  let length = 0;
  const freed = new GainsAlong(stats, order, options);
  const point = (): void => {
    const at = share(freed.memoryBytes, memory) + delta;
    // Several steps with no memory between them: the last one counts.
    if (length === 0 || x[length - 1] !== at) x[length++] = at;
    y[length - 1] = share(freed.runtimeMs, runtime);
  };
  freed.addAll(order.recomputedOps);
  point();
  for (let i = 0; i < mspsMeta.count; i++) {
    freed.add(mspsMeta.opIdx[i]);
    point();
  }
  freed.addAll(order.storedOps);
  point();
  return { discardedMemory: x.slice(0, length), recomputationTime: y.slice(0, length) };
}

/** Returns part over whole; of nothing every share is 0. */
export function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

export function sum(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}
