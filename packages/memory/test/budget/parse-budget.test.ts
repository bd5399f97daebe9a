import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOfBudget, parseBudget } from "../../src/index.js";

test("budgets are read from shares, percentages, sizes and numbers of bytes", () => {
  expect(
    [1000, 1000.9, 1e21, "1000B", "2GB", "2e9B", "1.5 MiB", "60%", " 100% ", 0.6, "0.6", ".6", "1", 1].map(parseBudget),
  ).toEqual([
    { bytes: 1000 },
    { bytes: 1000 },
    { bytes: 1e21 },
    { bytes: 1000 },
    { bytes: 2e9 },
    { bytes: 2e9 },
    { bytes: 1.5 * 2 ** 20 },
    { fraction: 0.6 },
    { fraction: 1 },
    { fraction: 0.6 },
    { fraction: 0.6 },
    { fraction: 0.6 },
    { fraction: 1 },
    { fraction: 1 },
  ]);
});

test.each([
  ["702.7MiB", 702.75 * 2 ** 20 - 1],
  ["3.570 KiB", Math.ceil(3.5705 * 2 ** 10) - 1],
  ["12.50GiB", 12.505 * 2 ** 30],
  ["1003.4MiB", 1003.45 * 2 ** 20],
  // These nobody has rounded, or not to how sizes are shown.
  ["702MiB", 702 * 2 ** 20],
  ["1.5GiB", 1.5 * 2 ** 30],
  ["1003MiB", 1003 * 2 ** 20],
  ["1024MiB", 2 ** 30],
  ["2048MiB", 2 ** 31],
  ["702.7MB", 702.7e6],
])("%s is all that is shown so", (typed, bytes) => {
  expect(parseBudget(typed)).toEqual({ bytes: Math.floor(bytes) });
});

test.each([
  [0, "not more than 0"],
  [-1, "not more than 0"],
  [Number.NaN, "found NaN"],
  [Number.POSITIVE_INFINITY, "found Infinity"],
  ["", 'found ""'],
  ["much", 'found "much"'],
  ["2 parsecs", 'found "2 parsecs"'],
  ["0%", "not more than 0"],
  ["120%", "more than 100%"],
  ["500000", "Do you mean 500000B or 500000%?"],
  ["0.5B", "less than a byte"],
])("%j is no budget", (wrong, why) => {
  expect(() => parseBudget(wrong)).toThrow(why);
  expect(() => parseBudget(wrong)).toThrow(/expected a budget/);
});

test.each([
  [10n, "found 10"],
  [undefined, "found undefined"],
  [{}, "found {}"],
  [[[0.5]], "found [[0.5]]"],
])("what no type allows is no budget: %s", (wrong, why) => {
  expect(() => parseBudget(wrong as never)).toThrow(
    expect.objectContaining({ code: "BUDGET", message: expect.stringContaining(why) }),
  );
});

test("a share comes to whole bytes, at most what it is of", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.nat(2 ** 40), (perMille, reference) => {
      const bytes = bytesOfBudget(parseBudget(`${perMille / 10}%`), reference);
      expect(Number.isInteger(bytes)).toBe(true);
      expect(bytes).toBeLessThanOrEqual(reference);
      expect(bytes).toBeGreaterThan((perMille / 1000) * reference - 1.01);
    }),
  );
  expect(bytesOfBudget(parseBudget("100%"), 12_345)).toBe(12_345);
});
