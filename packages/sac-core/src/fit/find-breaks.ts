import { bestLine, brokenLineResidual, type Line, newLine, oneBreakResidual } from "./broken-line.js";
import type { CandidatePool } from "./candidate-pool.js";
import type { PointSums } from "./point-sums.js";

/*
 * Where the breaks of the best continuous broken line can be (Hudson 1966, "Fitting segmented curves whose join points have to be
 * estimated"): the residual is smooth in a break that moves between two neighbouring points, and where its derivative is 0 the lines on
 * both sides are those that fit their own points best, so that the break is their intersection. Every other optimum has the break at a point.
 * So it is enough to try, for each choice of gaps between neighbouring points, the intersection and the two points at the gap's ends.
 */

/** Offers every candidate for one inner break. Time is linear in the number of points. */
export function findOneBreak(points: PointSums, pool: CandidatePool): void {
  const { x, count } = points;
  const left = newLine();
  const right = newLine();
  for (let i = 0; i + 1 < count; i++) {
    if (x[i] === x[i + 1]) continue;
    bestLine(points, 0, i + 1, left);
    bestLine(points, i + 1, count, right);
    const lower = left.residual + right.residual;
    if (lower < pool.bound) {
      const crossing = intersection(left, right, x[i], x[i + 1]);
      if (crossing !== undefined) pool.offer(lower, [crossing]);
    }
    if (i === 0) continue;
    const residual = oneBreakResidual(points, i);
    if (residual < pool.bound) pool.offer(residual, [x[i]]);
  }
}

/**
 * Offers the candidates for two inner breaks, leaving out pairs of gaps whose three best lines, joined or not, are no better than what the pool
 * holds. Time grows with the square of the number of points.
 */
export function findTwoBreaks(points: PointSums, pool: CandidatePool): void {
  const { x, count } = points;
  const first = prefixLines(points);
  const last = suffixLines(points);
  const middle = newLine();
  const outer = { first: newLine(), last: newLine() };
  for (let i = 0; i + 1 < count; i++) {
    if (x[i] === x[i + 1]) continue;
    for (let j = i; j + 1 < count; j++) {
      if (x[j] === x[j + 1]) continue;
      // Points 0 … i, i + 1 … j, j + 1 … count - 1.
      const ends = first.residual[i] + last.residual[j + 1];
      if (!(ends < pool.bound)) continue;
      if (i === j) {
        if (i > 0 && j + 1 < count - 1) offerAtPoints(points, pool, i, j + 1);
        continue;
      }
      bestLine(points, i + 1, j + 1, middle);
      const lower = ends + middle.residual;
      if (!(lower < pool.bound)) continue;
      const leftLine = first.line(i);
      const rightLine = last.line(j + 1);
      const a = intersection(leftLine, middle, x[i], x[i + 1]);
      const b = intersection(middle, rightLine, x[j], x[j + 1]);
      if (a !== undefined && b !== undefined) {
        pool.offer(lower, [a, b]);
        continue;
      }
      // One break an intersection and the other at a point.
      for (const at of [j, j + 1]) {
        if (at <= i || at >= count - 1) continue;
        const residual = first.residual[i] + brokenLineResidual(points, i + 1, count, [x[at]], [at], outer);
        if (!(residual < pool.bound)) continue;
        const crossing = intersection(leftLine, outer.first, x[i], x[i + 1]);
        if (crossing !== undefined) pool.offer(residual, [crossing, x[at]]);
      }
      for (const at of [i, i + 1]) {
        if (at === 0 || at > j) continue;
        const residual = brokenLineResidual(points, 0, j + 1, [x[at]], [at], outer) + last.residual[j + 1];
        if (!(residual < pool.bound)) continue;
        const crossing = intersection(outer.last, rightLine, x[j], x[j + 1]);
        if (crossing !== undefined) pool.offer(residual, [x[at], crossing]);
      }
      if (i > 0) offerAtPoints(points, pool, i, j);
    }
  }
}

function offerAtPoints(points: PointSums, pool: CandidatePool, i: number, j: number): void {
  const breaks = [points.x[i], points.x[j]];
  pool.offer(brokenLineResidual(points, 0, points.count, breaks, [i, j]), breaks);
}

/** Where two lines meet, if that is from `low` to `high`. */
function intersection(a: Line, b: Line, low: number, high: number): number | undefined {
  const at = (b.intercept - a.intercept) / (a.slope - b.slope);
  return at >= low && at <= high ? at : undefined;
}

interface Lines {
  readonly residual: Float64Array;
  /** A line that is only good until the next call. */
  line(index: number): Line;
}

/** Best lines through the points up to, and including, each one. */
function prefixLines(points: PointSums): Lines {
  return linesOf(points.count, (i, into) => bestLine(points, 0, i + 1, into));
}

/** Best lines through the points from each one on. */
function suffixLines(points: PointSums): Lines {
  return linesOf(points.count, (i, into) => bestLine(points, i, points.count, into));
}

function linesOf(count: number, fit: (index: number, into: Line) => Line): Lines {
  const residual = new Float64Array(count);
  const slope = new Float64Array(count);
  const intercept = new Float64Array(count);
  const line = newLine();
  for (let i = 0; i < count; i++) {
    fit(i, line);
    residual[i] = line.residual;
    slope[i] = line.slope;
    intercept[i] = line.intercept;
  }
  return {
    residual,
    line(index) {
      line.residual = residual[index];
      line.slope = slope[index];
      line.intercept = intercept[index];
      return line;
    },
  };
}
