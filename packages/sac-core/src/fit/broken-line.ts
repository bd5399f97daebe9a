import { emptySums, type PointSums } from "./point-sums.js";

/**
 * A least-squares line through a run of points. `intercept` is at x = 0, with y relative to the centre of all points.
 */
export interface Line {
  slope: number;
  intercept: number;
  residual: number;
}

export const newLine = (): Line => ({ slope: 0, intercept: 0, residual: 0 });

const sums = emptySums();

/**
 * Returns the best line through the points from `from` up to, but not including, `to`. It is flat if they share one x.
 */
export function bestLine(points: PointSums, from: number, to: number, into: Line): Line {
  const { n, x, y, xx, xy, yy } = points.read(from, to, points.x[from], sums);
  const spreadX = xx - (x * x) / n;
  const product = xy - (x * y) / n;
  into.slope = to - from > 1 && spreadX > 0 ? product / spreadX : 0;
  into.intercept = (y - into.slope * x) / n - into.slope * points.x[from];
  into.residual = Math.max(0, yy - (y * y) / n - into.slope * product);
  return into;
}

/**
 * Returns the sum of squared residuals of the best continuous piecewise linear function through the points from `from`
 * up to `to`, with breaks at the x of `breaks` (ascending). `starts[k]` is the first point that is not before break k.
 * If `outer` and `heights` are given, it writes the first and last segment and the heights at the breaks into them.
 *
 * The unknowns are the line's heights at its breaks. A segment between two breaks relates their two heights. The
 * segments at the ends have a free slope, which is eliminated first. That leaves a tridiagonal system with one equation
 * for each break.
 */
export function brokenLineResidual(
  points: PointSums,
  from: number,
  to: number,
  breaks: readonly number[],
  starts: readonly number[],
  outer?: { readonly first: Line; readonly last: Line },
  heights: number[] = [],
): number {
  const count = breaks.length;
  let constant = 0;
  const diagonal: number[] = [];
  const right: number[] = [];
  const above: number[] = [];
  for (let k = 0; k < count; k++) {
    diagonal.push(0);
    right.push(0);
    above.push(0);
  }
  const end = (low: number, high: number, at: number, k: number): void => {
    const { n, x, y, xx, xy, yy } = points.read(low, high, at, sums);
    if (xx > 0) {
      diagonal[k] += n - (x * x) / xx;
      right[k] += y - (xy * x) / xx;
      constant += yy - (xy * xy) / xx;
    } else {
      diagonal[k] += n;
      right[k] += y;
      constant += yy;
    }
  };
  // A point at a break belongs to the segment that begins there. At the last break it belongs to the last segment.
  end(from, starts[0], breaks[0], 0);
  for (let k = 0; k + 1 < count; k++) {
    const width = breaks[k + 1] - breaks[k];
    const { n, x, y, xx, xy, yy } = points.read(starts[k], starts[k + 1], breaks[k], sums);
    if (!(width > 0)) continue;
    const t = x / width;
    const tt = xx / (width * width);
    const ty = xy / width;
    diagonal[k] += n - 2 * t + tt;
    above[k] += t - tt;
    diagonal[k + 1] += tt;
    right[k] += y - ty;
    right[k + 1] += ty;
    constant += yy;
  }
  end(starts[count - 1], to, breaks[count - 1], count - 1);

  let residual = constant;
  for (let k = 0; k < count; k++) {
    if (k > 0 && diagonal[k - 1] > 0) {
      const factor = above[k - 1] / diagonal[k - 1];
      diagonal[k] -= factor * above[k - 1];
      right[k] -= factor * right[k - 1];
    }
    // A height that no point depends on is free and does not reduce the residual.
    if (diagonal[k] > 1e-12) residual -= (right[k] * right[k]) / diagonal[k];
    else diagonal[k] = 0;
  }
  if (outer !== undefined) {
    for (let k = count - 1; k >= 0; k--)
      heights[k] = diagonal[k] > 0 ? (right[k] - (k + 1 < count ? above[k] * heights[k + 1] : 0)) / diagonal[k] : 0;
    outerLine(points, from, starts[0], breaks[0], heights[0], outer.first);
    outerLine(points, starts[count - 1], to, breaks[count - 1], heights[count - 1], outer.last);
  }
  return Math.max(0, residual);
}

/**
 * Returns {@link brokenLineResidual} over all points with one break, at point `at`. The search for two segments spends
 * most of its time here.
 */
export function oneBreakResidual(points: PointSums, at: number): number {
  let weight = 0;
  let right = 0;
  let constant = 0;
  for (let side = 0; side < 2; side++) {
    const { n, x, y, xx, xy, yy } =
      side === 0 ? points.read(0, at, points.x[at], sums) : points.read(at, points.count, points.x[at], sums);
    const slope = xx > 0 ? 1 / xx : 0;
    weight += n - x * x * slope;
    right += y - xy * x * slope;
    constant += yy - xy * xy * slope;
  }
  return Math.max(0, weight > 1e-12 ? constant - (right * right) / weight : constant);
}

/**
 * Returns the sum of squared residuals of the best continuous piecewise linear function with the given inner breaks,
 * computed point by point. It is slower than {@link brokenLineResidual} but exact to all digits, because rounding
 * errors of the line enter the residual squared.
 */
export function residualPointByPoint(points: PointSums, breaks: readonly number[], starts: readonly number[]): number {
  const outer = { first: newLine(), last: newLine() };
  const heights: number[] = [];
  brokenLineResidual(points, 0, points.count, breaks, starts, outer, heights);
  const { x, y, centerY } = points;
  let residual = 0;
  for (let k = 0; k <= breaks.length; k++) {
    let { slope, intercept } = k === 0 ? outer.first : outer.last;
    if (k > 0 && k < breaks.length) {
      const width = breaks[k] - breaks[k - 1];
      slope = width > 0 ? (heights[k] - heights[k - 1]) / width : 0;
      intercept = heights[k - 1] - slope * breaks[k - 1];
    }
    intercept += centerY;
    const to = k < breaks.length ? starts[k] : points.count;
    for (let i = k === 0 ? 0 : starts[k - 1]; i < to; i++) {
      const difference = y[i] - slope * x[i] - intercept;
      residual += difference * difference;
    }
  }
  return residual;
}

/** The best line through a run of points with the given height at `at`. */
function outerLine(points: PointSums, from: number, to: number, at: number, height: number, into: Line): void {
  const { x, xx, xy } = points.read(from, to, at, sums);
  into.slope = xx > 0 ? (xy - height * x) / xx : 0;
  into.intercept = height - into.slope * at;
}
