/**
 * Returns the `x` ≥ 0 that minimizes ‖`rows` · x − `targets`‖². For a handful of unknowns this is exact and simple: it
 * solves the normal equations for each set of unknowns that may be positive, and keeps the best solution without a
 * negative one. Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23, shows that the minimum is among
 * these.
 *
 * @internal
 */
export function nonNegativeLeastSquares(
  rows: readonly (readonly number[])[],
  targets: readonly number[],
): readonly number[] {
  const count = rows[0]?.length ?? 0;
  // Columns of equal length keep the normal equations well conditioned.
  const scales = Array.from({ length: count }, (_, i) => Math.hypot(...rows.map((row) => row[i])) || 1);
  const scaled = rows.map((row) => row.map((value, i) => value / scales[i]));
  const { products, moments } = normalEquations(scaled, targets, count);
  let best = { x: new Array<number>(count).fill(0), gain: 0 };
  for (let set = 1; set < 1 << count; set++) {
    const chosen = Array.from({ length: count }, (_, i) => i).filter((i) => ((set >> i) & 1) === 1);
    const solution = solve(
      chosen.map((i) => chosen.map((j) => products[i][j])),
      chosen.map((i) => moments[i]),
    );
    if (solution === undefined || solution.some((value) => value < 0)) continue;
    // At a solution of the normal equations, the sum of squares falls by this much.
    const gain = solution.reduce((sum, value, at) => sum + value * moments[chosen[at]], 0);
    if (gain <= best.gain) continue;
    best = { x: new Array<number>(count).fill(0), gain };
    for (const [at, i] of chosen.entries()) best.x[i] = solution[at];
  }
  return best.x.map((value, i) => value / scales[i]);
}

function normalEquations(rows: readonly (readonly number[])[], targets: readonly number[], count: number) {
  const products = Array.from({ length: count }, () => new Array<number>(count).fill(0));
  const moments = new Array<number>(count).fill(0);
  for (const [at, row] of rows.entries())
    for (let i = 0; i < count; i++) {
      moments[i] += row[i] * targets[at];
      for (let j = 0; j < count; j++) products[i][j] += row[i] * row[j];
    }
  return { products, moments };
}

/** Cholesky decomposition. Undefined if the matrix is singular within rounding. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] | undefined {
  const size = right.length;
  const lower = matrix.map((row) => [...row]);
  const x = [...right];
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = lower[i][j];
      for (let k = 0; k < j; k++) sum -= lower[i][k] * lower[j][k];
      if (i === j) {
        if (sum <= 1e-10 * matrix[i][i] || sum <= 0) return undefined;
        lower[i][i] = Math.sqrt(sum);
      } else lower[i][j] = sum / lower[j][j];
    }
    for (let k = 0; k < i; k++) x[i] -= lower[i][k] * x[k];
    x[i] /= lower[i][i];
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let k = i + 1; k < size; k++) x[i] -= lower[k][i] * x[k];
    x[i] /= lower[i][i];
  }
  return x;
}
