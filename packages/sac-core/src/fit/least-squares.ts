/**
 * A continuous piecewise linear function. Segment k is `slopes[k] * x + intercepts[k]` from `breaks[k]` to `breaks[k +
 * 1]`.
 */
export interface BrokenLine {
  /** Ends of the segments in ascending order, one more than segments. */
  readonly breaks: readonly number[];
  /** Slope of each segment. */
  readonly slopes: readonly number[];
  /** Value at x = 0 of each segment's line. */
  readonly intercepts: readonly number[];
  /** Sum of squared differences from the points. */
  readonly residualSumOfSquares: number;
}

/**
 * Returns the least-squares continuous piecewise linear function with the given breaks. It is solved by Householder
 * reflections, not by sums of squares, so it is exact to rounding. A segment that no point determines continues in the
 * direction of the one before.
 */
export function fitWithBreaks(x: Float64Array, y: Float64Array, breaks: readonly number[]): BrokenLine {
  const rows = x.length;
  const segments = breaks.length - 1;
  const width = breaks[segments] - breaks[0] || 1;
  // Columns: 1, x from the first break, and the effect of a change of slope at each inner break. x is in units of the
  // whole range.
  const columns: Float64Array[] = [new Float64Array(rows).fill(1)];
  for (let k = 0; k < segments; k++) columns.push(rampFrom(x, breaks[k], width));
  const rest = y.slice();
  const triangle: number[][] = [];
  const pivots: number[] = [];
  let row = 0;
  for (let c = 0; c < columns.length; c++) {
    const column = columns[c];
    triangle.push(Array.from(column.subarray(0, row)));
    let norm = 0;
    for (let i = row; i < rows; i++) norm += column[i] * column[i];
    norm = Math.sqrt(norm);
    let whole = 0;
    for (let i = 0; i < row; i++) whole += column[i] * column[i];
    if (row >= rows || norm <= 1e-13 * Math.sqrt(whole + norm * norm) || norm === 0) {
      pivots.push(-1);
      continue;
    }
    const alpha = column[row] > 0 ? -norm : norm;
    const reflector = column.slice(row);
    reflector[0] -= alpha;
    let square = 0;
    for (let i = 0; i < reflector.length; i++) square += reflector[i] * reflector[i];
    const reflect = (target: Float64Array): void => {
      let dot = 0;
      for (let i = 0; i < reflector.length; i++) dot += reflector[i] * target[row + i];
      const factor = (2 * dot) / square;
      for (let i = 0; i < reflector.length; i++) target[row + i] -= factor * reflector[i];
    };
    for (let later = c + 1; later < columns.length; later++) reflect(columns[later]);
    reflect(rest);
    triangle[c].push(alpha);
    pivots.push(row++);
  }
  const coefficients: number[] = [];
  for (let c = columns.length - 1; c >= 0; c--) {
    if (pivots[c] < 0) {
      coefficients[c] = 0;
      continue;
    }
    let value = rest[pivots[c]];
    for (let later = c + 1; later < columns.length; later++)
      value -= (triangle[later][pivots[c]] ?? 0) * coefficients[later];
    coefficients[c] = value / triangle[c][pivots[c]];
  }
  const slopes: number[] = [];
  const intercepts: number[] = [];
  let slope = 0;
  let height = coefficients[0];
  for (let k = 0; k < segments; k++) {
    slope += coefficients[k + 1] / width;
    slopes.push(slope);
    intercepts.push(height - slope * breaks[k]);
    height += slope * (breaks[k + 1] - breaks[k]);
  }
  let residual = 0;
  for (let i = 0, k = 0; i < rows; i++) {
    while (k < segments - 1 && x[i] >= breaks[k + 1]) k++;
    const difference = y[i] - (slopes[k] * x[i] + intercepts[k]);
    residual += difference * difference;
  }
  return { breaks, slopes, intercepts, residualSumOfSquares: residual };
}

/** Returns how far each x is beyond a break, as a fraction of the width. */
function rampFrom(x: Float64Array, from: number, width: number): Float64Array {
  const ramp = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) ramp[i] = Math.max(0, x[i] - from) / width;
  return ramp;
}
