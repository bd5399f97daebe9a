import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fitWithBreaks } from "../src/fit/least-squares.js";
import { fitPiecewiseLinear } from "../src/index.js";
import { residualOf } from "./compare-pwlf-golden.js";

const coordinate = fc.integer({ min: 0, max: 200 }).map((n) => n / 10);
const points = fc
  .array(fc.tuple(coordinate, coordinate), { minLength: 4, maxLength: 14 })
  .map((pairs) => pairs.sort(([a], [b]) => a - b))
  .filter((pairs) => new Set(pairs.map(([x]) => x)).size >= 4)
  .map((pairs) => ({ x: Float64Array.from(pairs, ([x]) => x), y: Float64Array.from(pairs, ([, y]) => y) }));

/** Least residual over a grid of breaks. */
function gridResidual(x: Float64Array, y: Float64Array, innerBreaks: number, steps: number): number {
  const [low, high] = [x[0], x[x.length - 1]];
  const grid = Array.from({ length: steps - 1 }, (_, i) => low + ((i + 1) * (high - low)) / steps);
  let best = Infinity;
  const choose = (from: number, chosen: readonly number[]): void => {
    if (chosen.length === innerBreaks)
      best = Math.min(best, fitWithBreaks(x, y, [low, ...chosen, high]).residualSumOfSquares);
    else for (let i = from; i < grid.length; i++) choose(i + 1, [...chosen, grid[i]]);
  };
  choose(0, []);
  return best;
}

/**
 * Least residual over every choice of `innerBreaks` points and gaps. In a gap the break is where the best lines of both sides meet (Hudson 1966), so
 * that the choices are all there are.
 */
function leastOfAllChoices(x: Float64Array, y: Float64Array, innerBreaks: number): number {
  const distinct = [...new Set(x)];
  const last = distinct.length - 1;
  const places = Array.from({ length: 2 * last - 1 }, (_, i) => (i + 1) / 2);
  let least = Infinity;
  const tryOut = (chosen: readonly number[]): void => {
    const breaks: number[] = [];
    let start = 0;
    let left: { slope: number; intercept: number } | undefined;
    for (const gap of [...chosen.filter((place) => place % 1 !== 0), last + 0.5]) {
      const end = Math.floor(gap);
      const joined = chosen
        .filter((place) => place % 1 === 0 && place >= start && place <= end)
        .map((at) => distinct[at]);
      const inside = Array.from(x.keys()).filter((i) => x[i] >= distinct[start] && x[i] <= distinct[end]);
      const ends = [distinct[start], ...joined, distinct[end]];
      if (end === start) return;
      const of = (values: Float64Array) => Float64Array.from(inside, (i) => values[i]);
      const { slopes, intercepts } = fitWithBreaks(of(x), of(y), ends);
      if (left !== undefined) {
        const at = (intercepts[0] - left.intercept) / (left.slope - slopes[0]);
        if (!(at >= distinct[start - 1] && at <= distinct[start])) return;
        breaks.push(at);
      }
      breaks.push(...joined);
      left = { slope: slopes[slopes.length - 1], intercept: intercepts[intercepts.length - 1] };
      start = end + 1;
    }
    least = Math.min(least, fitWithBreaks(x, y, [x[0], ...breaks, x[x.length - 1]]).residualSumOfSquares);
  };
  const choose = (from: number, chosen: readonly number[]): void => {
    if (chosen.length === innerBreaks) tryOut(chosen);
    else for (let i = from; i < places.length; i++) choose(i + 1, [...chosen, places[i]]);
  };
  choose(1, []);
  return least;
}

const spread = (y: Float64Array): number => y.reduce((sum, value) => sum + value * value, 0);

test("two segments are never further from the points than any on a grid", () => {
  fc.assert(
    fc.property(points, ({ x, y }) => {
      const { residualSumOfSquares } = fitPiecewiseLinear(x, y, 2);
      expect(residualSumOfSquares).toBeLessThanOrEqual(gridResidual(x, y, 1, 240) + 1e-11 * spread(y));
    }),
    { numRuns: 150 },
  );
});

test("three segments are never further from the points than any on a grid", () => {
  fc.assert(
    fc.property(points, ({ x, y }) => {
      const { residualSumOfSquares } = fitPiecewiseLinear(x, y, 3);
      expect(residualSumOfSquares).toBeLessThanOrEqual(gridResidual(x, y, 2, 36) + 1e-11 * spread(y));
    }),
    { numRuns: 60 },
  );
});

test("four segments are never further from the points than any on a grid", () => {
  fc.assert(
    fc.property(points, ({ x, y }) => {
      const { residualSumOfSquares } = fitPiecewiseLinear(x, y, 4);
      expect(residualSumOfSquares).toBeLessThanOrEqual(gridResidual(x, y, 3, 16) + 1e-11 * spread(y));
    }),
    { numRuns: 40 },
  );
});

describe("the best of all choices of points and gaps for the breaks", () => {
  const few = fc
    .array(
      fc.tuple(fc.oneof(coordinate, fc.integer({ min: 0, max: 9 })), fc.oneof(coordinate, fc.constantFrom(0, 5))),
      {
        minLength: 5,
        maxLength: 8,
      },
    )
    .map((pairs) => pairs.sort(([a], [b]) => a - b))
    .filter((pairs) => new Set(pairs.map(([x]) => x)).size >= 5)
    .map((pairs) => ({ x: Float64Array.from(pairs, ([x]) => x), y: Float64Array.from(pairs, ([, y]) => y) }));

  test.each([3, 4, 5, 6])("%i segments are the nearest", (segments) => {
    fc.assert(
      fc.property(few, ({ x, y }) => {
        const { residualSumOfSquares, isProven } = fitPiecewiseLinear(x, y, segments);
        const least = leastOfAllChoices(x, y, Math.min(segments, new Set(x).size - 1) - 1);
        expect(isProven).toBe(true);
        // Residuals are rounded in proportion to `y`, so their squares are off by its square. A residual of 0 comes out that large.
        expect(Math.abs(residualSumOfSquares - least)).toBeLessThanOrEqual(1e-9 * least + 1e-20 * spread(y));
      }),
      {
        numRuns: 60,
        // FAST_CHECK_SEED=39626: four segments go through all points but one, and the residual is 6e-20 above the least.
        examples: [
          [
            {
              x: Float64Array.from([0, 0.6, 0.6, 5, 6, 6.7, 6.8]),
              y: Float64Array.from([16.5, 5, 5, 5, 5, 17.6, 5]),
            },
          ],
        ],
      },
    );
  });
});

test("more segments than there are lines go through the points", () => {
  const x = [1, 2, 2, 11.3, 12.6, 15.7, 18.4];
  const y = [17.1, 0, 4.3, 4.6, 5, 10.3, 15.3];
  for (const segments of [4, 5, 6])
    expect(fitPiecewiseLinear(x, y, segments).residualSumOfSquares).toBeCloseTo(4.3 ** 2 / 2, 12);
});

test("more segments than the search can prove are no worse than two, and say so", () => {
  const x = Float64Array.from({ length: 7200 }, (_, i) => i);
  const y = x.map((value) => Math.sin(value / 700) + ((value * 7919) % 101) / 500);
  const found = fitPiecewiseLinear(x, y, 3);
  expect(found.isProven).toBe(false);
  expect(found.residualSumOfSquares).toBeLessThan(fitPiecewiseLinear(x, y, 2).residualSumOfSquares);
});

test("more segments are never further from the points than fewer", () => {
  fc.assert(
    fc.property(points, ({ x, y }) => {
      const residuals = [1, 2, 3, 4, 5].map((segments) => fitPiecewiseLinear(x, y, segments).residualSumOfSquares);
      for (let i = 1; i < residuals.length; i++)
        expect(residuals[i]).toBeLessThanOrEqual(residuals[i - 1] + 1e-11 * spread(y));
    }),
    { numRuns: 100 },
  );
});

test("the line is continuous, its breaks ascend from the least to the greatest x, its residual is that of the line", () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 1, max: 5 }), ({ x, y }, segments) => {
      const line = fitPiecewiseLinear(x, y, segments);
      const { breaks, slopes, intercepts, residualSumOfSquares } = line;
      expect([breaks[0], breaks.at(-1)]).toEqual([x[0], x[x.length - 1]]);
      expect([...breaks].sort((a, b) => a - b)).toEqual(breaks);
      expect([slopes.length, intercepts.length]).toEqual([breaks.length - 1, breaks.length - 1]);
      for (let k = 1; k < slopes.length; k++) {
        const before = slopes[k - 1] * breaks[k] + intercepts[k - 1];
        // A steep segment over a short gap loses digits in proportion to its slope.
        expect(Math.abs(slopes[k] * breaks[k] + intercepts[k] - before)).toBeLessThan(
          1e-9 * (1 + Math.abs(slopes[k]) + Math.abs(slopes[k - 1])),
        );
      }
      expect(residualOf({ ...line, fitBreaks: breaks }, x, y)).toBeCloseTo(residualSumOfSquares, 6);
    }),
    { numRuns: 200 },
  );
});

test("finds the breaks of points that lie on a broken line", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 17 }),
      fc.integer({ min: 1, max: 9 }),
      fc.tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -5, max: 5 })),
      (at, tenths, [before, after]) => {
        fc.pre(before !== after);
        const bend = at + tenths / 10;
        const x = Float64Array.from({ length: 21 }, (_, i) => i);
        const y = x.map((value) => (value < bend ? before * (value - bend) : after * (value - bend)) + 3);
        const { breaks, slopes } = fitPiecewiseLinear(x, y, 2);
        expect(breaks[1]).toBeCloseTo(bend, 6);
        expect(slopes[0]).toBeCloseTo(before, 6);
        expect(slopes[1]).toBeCloseTo(after, 6);
      },
    ),
  );
});

test("the order of the points does not matter", () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 1, max: 3 }), ({ x, y }, segments) => {
      const found = fitPiecewiseLinear(Array.from(x).reverse(), Array.from(y).reverse(), segments);
      expect(found.residualSumOfSquares).toBeCloseTo(fitPiecewiseLinear(x, y, segments).residualSumOfSquares, 8);
    }),
    { numRuns: 50 },
  );
});

test("does not depend on where the points are, or on their scale", () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 1, max: 3 }), ({ x, y }, segments) => {
      const moved = fitPiecewiseLinear(
        x.map((value) => 1000 * value + 1e6),
        y.map((value) => 1e-3 * value - 5),
        segments,
      );
      const here = fitPiecewiseLinear(x, y, segments);
      expect(Math.abs(moved.residualSumOfSquares * 1e6 - here.residualSumOfSquares)).toBeLessThan(
        1e-6 * (1 + spread(y)),
      );
    }),
    { numRuns: 100 },
  );
});

test("a long curve takes two segments through the same search", () => {
  const x = Float64Array.from({ length: 20_000 }, (_, i) => i / 20_000);
  const y = x.map((value) => Math.max(0.2 * value, 3 * value - 2));
  const { breaks, residualSumOfSquares } = fitPiecewiseLinear(x, y, 2);
  expect(breaks[1]).toBeCloseTo(2 / 2.8, 4);
  expect(residualSumOfSquares).toBeLessThan(1e-12);
});

describe("short curves", () => {
  test.each([
    ["no point", [], [], 2, { breaks: [0, 0], slopes: [0], intercepts: [0] }],
    ["one point", [2], [3], 2, { breaks: [2, 2], slopes: [0], intercepts: [3] }],
    ["points at one x", [2, 2], [3, 5], 3, { breaks: [2, 2], slopes: [0], intercepts: [4] }],
    ["two points", [0, 2], [1, 5], 3, { breaks: [0, 2], slopes: [2], intercepts: [1] }],
  ])("of %s have no NaN", (_, x, y, segments, expected) => {
    const { breaks, slopes, intercepts } = fitPiecewiseLinear(x, y, segments);
    const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 12));
    expect({ breaks, slopes, intercepts }).toEqual({
      breaks: near(expected.breaks),
      slopes: near(expected.slopes),
      intercepts: near(expected.intercepts),
    });
  });
});

describe("bad input", () => {
  test.each([
    [[1, 2], [1], 1, "FIT_POINTS", /there are 2 x and 1 y/],
    [[1, Number.NaN], [1, 2], 1, "FIT_POINTS", /point 1: expected finite numbers, found \(NaN, 2\)/],
    [[1, 2], [1, 2], 0, "FIT_SEGMENTS", /is 0\./],
    [[1, 2], [1, 2], 1.5, "FIT_SEGMENTS", /is 1\.5\./],
  ])("x %j, y %j, %d segments", (x, y, segments, code, message) => {
    expect(() => fitPiecewiseLinear(x, y, segments)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });
});
