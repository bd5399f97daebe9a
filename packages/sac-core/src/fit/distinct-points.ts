/** Points in ascending order, with one y for each x. */
export interface DistinctPoints {
  readonly count: number;
  readonly x: Float64Array;
  /** Mean of the points that share this x. */
  readonly y: Float64Array;
  /** Number of points that share this x. */
  readonly weight: Float64Array;
  /** Sum of squared differences of all points from the mean at their x. No line can avoid this residual. */
  readonly scatter: number;
}

/** Returns the number of distinct values in an ascending list. */
export function countDistinct(x: Float64Array): number {
  let count = Math.min(1, x.length);
  for (let i = 1; i < x.length; i++) if (x[i] > x[i - 1]) count++;
  return count;
}

/** Joins points with the same x, given in ascending order of x. */
export function distinctPoints(x: Float64Array, y: Float64Array): DistinctPoints {
  const joined = { x: new Float64Array(x.length), y: new Float64Array(x.length), weight: new Float64Array(x.length) };
  let count = 0;
  let scatter = 0;
  for (let from = 0, to = 0; from < x.length; from = to) {
    let sum = 0;
    for (to = from; to < x.length && x[to] === x[from]; to++) sum += y[to];
    const mean = sum / (to - from);
    if (to - from > 1) for (let i = from; i < to; i++) scatter += (y[i] - mean) ** 2;
    joined.x[count] = x[from];
    joined.y[count] = mean;
    joined.weight[count++] = to - from;
  }
  return {
    count,
    x: joined.x.subarray(0, count),
    y: joined.y.subarray(0, count),
    weight: joined.weight.subarray(0, count),
    scatter,
  };
}
