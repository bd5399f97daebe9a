import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { loadHighs } from "../src/load-highs.js";
import { type MixedIntegerProblem, solveMixedInteger } from "../src/solve-mixed-integer.js";

afterEach(() => vi.restoreAllMocks());

/** Up to 5 columns from 0 to 2, and rows with limits on either side, both or neither. */
const problems: fc.Arbitrary<MixedIntegerProblem> = fc.integer({ min: 1, max: 5 }).chain((columns) => {
  const limit = (min: number, max: number) => fc.option(fc.integer({ min, max }), { nil: undefined });
  const row = fc
    .record({
      columns: fc.uniqueArray(fc.nat(columns - 1), { minLength: 1 }),
      weights: fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 5, maxLength: 5 }),
      atLeast: limit(-6, 3),
      atMost: limit(-2, 8),
    })
    .map(({ columns: of, weights, atLeast, atMost }) => ({
      columns: of,
      values: of.map((_, i) => weights[i]),
      ...(atLeast !== undefined && { atLeast }),
      ...(atMost !== undefined && { atMost }),
    }));
  return fc.record({
    cost: fc.array(fc.integer({ min: -9, max: 9 }), { minLength: columns, maxLength: columns }),
    upper: fc.array(fc.nat(2), { minLength: columns, maxLength: columns }),
    isWhole: fc.constant(new Array<number>(columns).fill(1)),
    rows: fc.array(row, { maxLength: 3 }),
  });
});

/** The least that any assignment costs, by trying all; undefined where none keeps the rows. */
function cheapest({ cost, upper, rows }: MixedIntegerProblem): number | undefined {
  let least: number | undefined;
  const try_ = (x: readonly number[]): void => {
    if (x.length < cost.length) {
      for (let value = 0; value <= upper[x.length]; value++) try_([...x, value]);
      return;
    }
    const isKept = rows.every(({ columns, values, atLeast = -Infinity, atMost = Infinity }) => {
      const sum = columns.reduce((all, column, i) => all + values[i] * x[column], 0);
      return sum >= atLeast && sum <= atMost;
    });
    const of = x.reduce((sum, value, i) => sum + value * cost[i], 0);
    if (isKept && (least === undefined || of < least)) least = of;
  };
  try_([]);
  return least;
}

test.each([0, 0.3])("finds what the cheapest of all assignments costs, within a gap of %s", async (relativeGap) => {
  const given = checkedShare();
  await fc.assert(
    fc.asyncProperty(problems, async (problem) => {
      const least = cheapest(problem);
      const found = await solveMixedInteger(problem, { relativeGap, timeLimitS: 10 });
      expect(found.isInfeasible).toBe(least === undefined);
      if (!given(least)) {
        expect(found).toMatchObject({ values: undefined, cost: Number.POSITIVE_INFINITY, isOptimal: false });
        return;
      }
      expect(found.isOptimal).toBe(true);
      expect(found.values).toHaveLength(problem.cost.length);
      const cost = found.values!.reduce((sum, value, i) => sum + value * problem.cost[i], 0);
      expect(found.cost).toBeCloseTo(cost, 6);
      expect(found.lowerBound).toBeLessThanOrEqual(least + 1e-6);
      expect(found.lowerBound).toBeLessThanOrEqual(found.cost);
      expect(found.cost - least).toBeLessThanOrEqual(relativeGap * Math.abs(found.cost) + 1e-6);
      if (relativeGap === 0) expect(found.lowerBound).toBe(found.cost);
    }),
    { numRuns: 60 },
  );
});

const small: MixedIntegerProblem = {
  cost: [-1, -1],
  upper: [1, 1],
  isWhole: [1, 1],
  rows: [{ columns: [0, 1], values: [1, 1], atMost: 1 }],
};
const limits = { relativeGap: 0, timeLimitS: 3 };

/** Models that the solver makes from here on, and how often each was disposed of; `breaks` has its run fail. */
async function watchModels({ breaks = false, disposing = (): void => {} } = {}) {
  const highs = await loadHighs();
  const create = highs.createModel.bind(highs);
  const disposed: number[] = [];
  const options: object[] = [];
  vi.spyOn(highs, "createModel").mockImplementation(() => {
    const model = create();
    const at = disposed.push(0) - 1;
    const dispose = model.dispose.bind(model);
    vi.spyOn(model, "dispose").mockImplementation(() => {
      disposed[at]++;
      dispose();
      disposing();
    });
    const set = model.options.set.bind(model.options);
    vi.spyOn(model.options, "set").mockImplementation((given: object) => {
      options.push(given);
      return set(given as never);
    });
    if (breaks)
      vi.spyOn(model, "run").mockImplementation(() => {
        throw new Error("memory access out of bounds");
      });
    return model;
  });
  return { highs, disposed, options };
}

test("disposes of each model once, and is silent and ends in time", async () => {
  const { disposed, options, highs } = await watchModels();
  for (let i = 0; i < 3; i++) expect(await solveMixedInteger(small, limits)).toMatchObject({ cost: -1 });
  expect(disposed).toEqual([1, 1, 1]);
  expect(options).toHaveLength(3);
  for (const given of options)
    expect(given).toMatchObject({ output_flag: false, time_limit: 3, mip_rel_gap: 0, mip_abs_gap: 0 });
  expect(await loadHighs()).toBe(highs);
});

test("disposes of the model of a run that fails, says what failed, and loads the solver again for the next", async () => {
  const { disposed, highs } = await watchModels({ breaks: true });
  await expect(solveMixedInteger(small, limits)).rejects.toMatchObject({
    code: "SOLVER_FAILED",
    message: expect.stringMatching(/^the solver HiGHS failed on 2 columns and 1 rows \(memory access out of bounds\)/),
  });
  expect(disposed).toEqual([1]);
  expect(await loadHighs()).not.toBe(highs);
  expect(await solveMixedInteger(small, limits)).toMatchObject({ cost: -1, isOptimal: true });
});

test("a model that cannot be disposed of after a failure hides nothing of it", async () => {
  const disposing = (): void => {
    throw new Error("disposed of twice");
  };
  await watchModels({ breaks: true, disposing });
  await expect(solveMixedInteger(small, limits)).rejects.toThrow("memory access out of bounds");
});
