import type { DistinctPoints } from "./distinct-points.js";
import { RunningLine } from "./running-line.js";

/**
 * Returns the residual of the best fit by at most `breaks + 1` lines through the points from `point` on. It is at index
 * `breaks * (count + 1) + point`. The lines need not meet, so no continuous line with as many segments has a smaller
 * residual. Time grows with the square of the number of points (Bellman 1961).
 */
export function separateLines(points: DistinctPoints, breaks: number): Float64Array {
  const { count } = points;
  const row = count + 1;
  const least = new Float64Array((breaks + 1) * row).fill(Infinity);
  for (let k = 0; k <= breaks; k++) least[k * row + count] = 0;
  const line = new RunningLine();
  for (let from = count - 1; from >= 0; from--) {
    line.clear();
    for (let to = from; to < count; to++) {
      line.add(points, to);
      if (to === count - 1) least[from] = Math.min(least[from], line.residual);
      for (let k = 1; k <= breaks; k++) {
        const residual = line.residual + least[(k - 1) * row + to + 1];
        if (residual < least[k * row + from]) least[k * row + from] = residual;
      }
    }
  }
  return least;
}
