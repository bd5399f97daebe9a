import { RematError } from "@remat/trace";
import { CandidatePool } from "./fit/candidate-pool.js";
import { findOneBreak, findTwoBreaks } from "./fit/find-breaks.js";
import { type BrokenLine, fitWithBreaks } from "./fit/least-squares.js";
import { PointSums } from "./fit/point-sums.js";
import { searchBreaks, trueResidual } from "./fit/search-breaks.js";

/** Up to this many points three segments are searched exactly: 8 million pairs of gaps, most of which a bound rules out. */
const exactPairsUpTo = 4096;

/**
 * Fits a continuous line of `segments` straight pieces to the points by least squares, with breaks wherever they are best: the model of
 * Python's `pwlf`. The outer breaks are the least and the greatest x. Segments are as many as asked for, but at most one fewer than there
 * are distinct x, and at least one; one point gets a flat line, none the flat line at 0.
 *
 * The breaks of one, two and three segments are the exact optimum (three: up to 4096 distinct x), and the same at every run. More segments are
 * a local optimum by deterministic search, never worse than with fewer. Two segments take time linear in the number of points.
 *
 * @throws RematError `FIT_POINTS` if x and y differ in length or are not finite, `FIT_SEGMENTS` if segments is not a positive integer
 * @example
 * const { breaks, slopes, intercepts } = fitPiecewiseLinear([0, 1, 2, 3], [0, 0, 1, 2], 2);
 */
export function fitPiecewiseLinear(x: ArrayLike<number>, y: ArrayLike<number>, segments: number): BrokenLine {
  if (!(Number.isInteger(segments) && segments >= 1))
    throw new RematError("FIT_SEGMENTS", `expected a positive number of segments, found ${segments}. Pass 1 or more.`);
  const points = sortedPoints(x, y);
  const { x: xs, y: ys } = points;
  const low = xs.length === 0 ? 0 : xs[0];
  const high = xs.length === 0 ? 0 : xs[xs.length - 1];
  if (!(high > low)) return flatLine(low, ys);
  const inner = Math.min(segments, points.distinct - 1) - 1;
  if (inner === 0) return fitWithBreaks(xs, ys, [low, high]);
  const sums = new PointSums(xs, ys);
  // Running sums tell residuals apart to some 12 digits; candidates nearer than that are compared by their true residuals.
  const margin = 1e-12 * sums.spread;
  const capacity = Math.max(1, Math.min(32, Math.floor(1e5 / xs.length)));
  const pool = new CandidatePool(capacity, margin);
  findOneBreak(sums, pool);
  let best = nearest(sums, pool, low, high);
  if (inner >= 2) {
    const near = searchBreaks(sums, best.breaks.slice(1, -1), 2);
    if (points.distinct <= exactPairsUpTo) {
      const pairs = new CandidatePool(capacity, margin);
      pairs.offer(trueResidual(sums, near), near);
      findTwoBreaks(sums, pairs);
      best = nearest(sums, pairs, low, high);
    } else best = fitWithBreaks(xs, ys, [low, ...near, high]);
  }
  if (inner > 2) best = fitWithBreaks(xs, ys, [low, ...searchBreaks(sums, best.breaks.slice(1, -1), inner), high]);
  return best;
}

/** The line of the candidate with the least residual. */
function nearest(sums: PointSums, pool: CandidatePool, low: number, high: number): BrokenLine {
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
  return fitWithBreaks(sums.x, sums.y, [low, ...best, high]);
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
): { readonly x: Float64Array; readonly y: Float64Array; readonly distinct: number } {
  if (x.length !== y.length)
    throw new RematError(
      "FIT_POINTS",
      `expected as many x as y, found ${x.length} and ${y.length}. Pass one y for each x.`,
    );
  let xs = Float64Array.from(x);
  let ys = Float64Array.from(y);
  let isSorted = true;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(xs[i]) || !Number.isFinite(ys[i]))
      throw new RematError(
        "FIT_POINTS",
        `point ${i}: expected finite numbers, found (${xs[i]}, ${ys[i]}). Leave it out.`,
      );
    if (i > 0 && xs[i] < xs[i - 1]) isSorted = false;
  }
  if (!isSorted) {
    const order = Array.from(xs.keys()).sort((a, b) => xs[a] - xs[b] || a - b);
    const [unsortedX, unsortedY] = [xs, ys];
    xs = Float64Array.from(order, (i) => unsortedX[i]);
    ys = Float64Array.from(order, (i) => unsortedY[i]);
  }
  let distinct = xs.length === 0 ? 0 : 1;
  for (let i = 1; i < xs.length; i++) if (xs[i] > xs[i - 1]) distinct++;
  return { x: xs, y: ys, distinct };
}
