import { RematError } from "@remat/trace";
import { CandidatePool } from "./fit/candidate-pool.js";
import { countDistinct, distinctPoints } from "./fit/distinct-points.js";
import { findBreaks } from "./fit/find-breaks.js";
import { findOneBreak } from "./fit/find-one-break.js";
import { type BrokenLine, fitWithBreaks } from "./fit/least-squares.js";
import { PointSums } from "./fit/point-sums.js";
import { searchBreaks, trueResidual } from "./fit/search-breaks.js";

/**
 * Maximum number of steps of the exact search for three or more segments, a few seconds. Steps are counted instead of
 * time, so that every run gives the same result.
 */
const stepsAtMost = 5e7;

/**
 * Fits a continuous line of `segments` straight pieces to the points by least squares, with breaks at the best places,
 * like Python's `pwlf`. The outer breaks are the smallest and the largest x. With n distinct x, the line has at most n
 * − 1 segments, and at least one. For one point the line is flat, and for no points it is flat at 0.
 *
 * The breaks are the exact optimum for any number of segments, and the same in every run. Two segments take time linear
 * in the number of points. For more segments, the function solves a dynamic program over pairs of points. If this would
 * take more than fifty million steps, as with thousands of points, a deterministic search finds a local optimum
 * instead, and `isProven` is false. The result is never worse than with two segments.
 *
 * @throws RematError `FIT_POINTS` if x and y differ in length or are not finite, `FIT_SEGMENTS` if segments is not a
 * positive integer
 * @example
 * const { breaks, slopes, intercepts } = fitPiecewiseLinear([0, 1, 2, 3], [0, 0, 1, 2], 2);
 */
export function fitPiecewiseLinear(x: ArrayLike<number>, y: ArrayLike<number>, segments: number): FittedLine {
  if (!(Number.isInteger(segments) && segments >= 1))
    throw new RematError("FIT_SEGMENTS", `the number of segments is ${segments}. Pass 1 or more.`);
  const { x: xs, y: ys } = sortedPoints(x, y);
  const low = xs.length === 0 ? 0 : xs[0];
  const high = xs.length === 0 ? 0 : xs[xs.length - 1];
  if (!(high > low)) return { ...flatLine(low, ys), isProven: true };
  const inner = Math.min(segments, countDistinct(xs) - 1) - 1;
  if (inner === 0) return { ...fitWithBreaks(xs, ys, [low, high]), isProven: true };
  const sums = new PointSums(xs, ys);
  // Running sums determine residuals to about 12 digits. Closer candidates are compared by their true residuals.
  const margin = 1e-12 * sums.spread;
  const capacity = Math.max(1, Math.min(32, Math.floor(1e5 / xs.length)));
  let pool = new CandidatePool(capacity, margin);
  findOneBreak(sums, pool);
  let isProven = true;
  if (inner > 1) {
    const near = searchBreaks(sums, nearest(sums, pool), inner);
    const reached = trueResidual(sums, near);
    pool = new CandidatePool(capacity, margin);
    pool.offer(reached, near);
    isProven = findBreaks(distinctPoints(xs, ys), inner, reached, stepsAtMost, pool);
  }
  const breaks = withMore(nearest(sums, pool), inner, xs);
  return { ...fitWithBreaks(xs, ys, [low, ...breaks, high]), isProven };
}

/** A {@link BrokenLine}, and whether it is proven to be the best with its number of segments. */
export interface FittedLine extends BrokenLine {
  /** True if no line with as many segments has a smaller residual. */
  readonly isProven: boolean;
}

/** Returns the breaks of the candidate with the smallest residual. */
function nearest(sums: PointSums, pool: CandidatePool): readonly number[] {
  let best = pool.breaks[0];
  if (pool.breaks.length > 1) {
    let least = Infinity;
    for (const breaks of pool.breaks) {
      const residual = trueResidual(sums, breaks);
      if (!(residual < least)) continue;
      least = residual;
      best = breaks;
    }
  }
  return best;
}

/**
 * Adds breaks up to the requested number. If the points lie on fewer lines, the best line has fewer breaks, and more
 * breaks at points do not change it. A break between two points is replaced by both points, so that the line keeps its
 * heights there. Otherwise no point would determine the added segment.
 */
function withMore(breaks: readonly number[], count: number, x: Float64Array): readonly number[] {
  const isInner = (at: number): boolean => at > x[0] && at < x[x.length - 1];
  const chosen = new Set(breaks);
  for (const at of breaks) {
    if (chosen.size >= count) break;
    const after = x.findIndex((each) => each >= at);
    if (x[after] === at) continue;
    chosen.delete(at);
    for (const end of [x[after - 1], x[after]]) if (isInner(end)) chosen.add(end);
  }
  for (let i = 1; chosen.size < count && i < x.length; i++) if (isInner(x[i])) chosen.add(x[i]);
  return [...chosen].sort((a, b) => a - b);
}

function flatLine(at: number, y: Float64Array): BrokenLine {
  let sum = 0;
  for (const value of y) sum += value;
  const height = y.length === 0 ? 0 : sum / y.length;
  let residual = 0;
  for (const value of y) residual += (value - height) ** 2;
  return { breaks: [at, at], slopes: [0], intercepts: [height], residualSumOfSquares: residual };
}

function sortedPoints(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
): { readonly x: Float64Array; readonly y: Float64Array } {
  if (x.length !== y.length)
    throw new RematError("FIT_POINTS", `there are ${x.length} x and ${y.length} y. Pass one y for each x.`);
  let xs = Float64Array.from(x);
  let ys = Float64Array.from(y);
  let isSorted = true;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(xs[i]) || !Number.isFinite(ys[i]))
      throw new RematError("FIT_POINTS", `point ${i}: expected finite numbers, found (${xs[i]}, ${ys[i]}). Remove it.`);
    if (i > 0 && xs[i] < xs[i - 1]) isSorted = false;
  }
  if (!isSorted) {
    const order = Array.from(xs.keys()).sort((a, b) => xs[a] - xs[b] || a - b);
    const [unsortedX, unsortedY] = [xs, ys];
    xs = Float64Array.from(order, (i) => unsortedX[i]);
    ys = Float64Array.from(order, (i) => unsortedY[i]);
  }
  return { x: xs, y: ys };
}
