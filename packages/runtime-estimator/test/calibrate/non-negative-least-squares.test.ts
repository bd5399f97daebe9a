import fc from "fast-check";
import { expect, test } from "vitest";
import { nonNegativeLeastSquares } from "../../src/calibrate/non-negative-least-squares.js";

const value = fc.integer({ min: -20, max: 20 });
const problem = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 9 }))
  .chain(([unknowns, count]) =>
    fc.tuple(
      fc.array(fc.array(value, { minLength: unknowns, maxLength: unknowns }), { minLength: count, maxLength: count }),
      fc.array(value, { minLength: count, maxLength: count }),
    ),
  );

const residualOf = (rows: readonly (readonly number[])[], targets: readonly number[], x: readonly number[]) =>
  rows.map((row, at) => row.reduce((sum, each, i) => sum + each * x[i], 0) - targets[at]);
const squares = (values: readonly number[]) => values.reduce((sum, each) => sum + each * each, 0);

test("meets the conditions of Karush, Kuhn and Tucker, which make a solution optimal", () => {
  fc.assert(
    fc.property(problem, ([rows, targets]) => {
      const x = nonNegativeLeastSquares(rows, targets);
      const residual = residualOf(rows, targets, x);
      for (const [i, each] of x.entries()) {
        const slope = rows.reduce((sum, row, at) => sum + row[i] * residual[at], 0);
        expect(each).toBeGreaterThanOrEqual(0);
        // The largest products are 9 × 20 × 20, so this is rounding: 1e-10 was found.
        if (each > 0) expect(Math.abs(slope)).toBeLessThan(1e-7);
        else expect(slope).toBeGreaterThan(-1e-7);
      }
    }),
  );
});

test("is not worse than any point of a grid", () => {
  fc.assert(
    fc.property(
      problem,
      fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 4, maxLength: 4 }),
      ([rows, targets], point) => {
        const found = squares(residualOf(rows, targets, nonNegativeLeastSquares(rows, targets)));
        expect(found).toBeLessThanOrEqual(squares(residualOf(rows, targets, point)) * (1 + 1e-9) + 1e-9);
      },
    ),
  );
});

test("returns zeros if nothing positive helps, and for unknowns that no row has", () => {
  expect(nonNegativeLeastSquares([[1], [2]], [-1, -2])).toEqual([0]);
  const onlySecond = [2, 4].map((each) => [0, each]);
  const [first, second] = nonNegativeLeastSquares(onlySecond, [1, 2]);
  expect(first).toBe(0);
  expect(second).toBeCloseTo(0.5, 12);
  expect(nonNegativeLeastSquares([], [])).toEqual([]);
});
