import { bestLine, type Line, newLine, oneBreakResidual } from "./broken-line.js";
import type { CandidatePool } from "./candidate-pool.js";
import type { PointSums } from "./point-sums.js";

/**
 * Offers every candidate for one inner break: each gap between neighbouring points where the best lines on both sides
 * meet, and each point (`findBreaks` explains why these are all). Time is linear in the number of points.
 */
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

/** The x where two lines meet, if it is between `low` and `high`. */
function intersection(a: Line, b: Line, low: number, high: number): number | undefined {
  const at = (b.intercept - a.intercept) / (a.slope - b.slope);
  return at >= low && at <= high ? at : undefined;
}
