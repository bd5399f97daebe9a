import type { BrokenLine } from "./fit/least-squares.js";
import { fitPiecewiseLinear } from "./fit-piecewise-linear.js";
import { type GainOptions, GainsAlong } from "./gains-along.js";
import type { SACGreedyOrderMeta } from "./greedy-order.js";
import type { SACStats } from "./sac-stats.js";

/** Points of a trade-off curve, in ascending order. */
export interface TradeoffCurve {
  /** Share of memory that is freed, plus 0.01 as in PyTorch, so that no point is at 0. */
  readonly discardedMemory: Float64Array;
  /** Recomputation time as a share of the forward pass. */
  readonly recomputationTime: Float64Array;
}

/** PyTorch's `SACTradeOffStats`. */
export interface SACTradeOffStats {
  /** Number of segments of the fitted line. */
  readonly nSegments: number;
  /** Slope of each segment. */
  readonly slopes: readonly number[];
  /** Value at x = 0 of each segment's line. */
  readonly intercepts: readonly number[];
  /** Ends of the segments, one more than segments. */
  readonly fitBreaks: readonly number[];
  /** Sum of squared differences between the line and the points it was fitted to. */
  readonly fitResidual: number;
  /** The trade-off curve. */
  readonly tradeoffCurve: TradeoffCurve;
  /** Total memory of the module's ops, in bytes. */
  readonly sacMemoryBytes: number;
  /** Total time of the module's ops, in milliseconds. */
  readonly sacRuntimeMs: number;
}

/** Options of `tradeOff`. */
export interface TradeOffOptions extends GainOptions {
  /** Number of segments to fit. Default: 2. */
  readonly nSegments?: number;
}

/** Added to the memory axis as in PyTorch, so that no point is at 0. */
const delta = 1e-2;

/**
 * Returns the trade-off of recomputation time against freed memory, in greedy order. Also returns a piecewise linear
 * function that bounds this curve. For the fit, the memory of each point is replaced by that of its left neighbour.
 * With n points there are at most n − 2 segments, and at least one.
 *
 * Two cases work here in which PyTorch raises an error or returns NaN. Shares of a total memory or time of 0 are 0. For
 * a curve of one point, the line is flat. An op in two groups (in-place and random) counts with the first, so that the
 * curve ends at the total memory and time. With `asPytorch` it counts with both.
 *
 * Source: `SACEstimator._get_sac_tradeoff_pwlf_stats` of PyTorch. The fit is exact, see {@link fitPiecewiseLinear}.
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
    // If several steps free no memory, the last one counts.
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

/** Returns part over whole, or 0 if the whole is 0. */
export function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

export function sum(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}
