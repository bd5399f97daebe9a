import { expect, test } from "vitest";
import { LoweredBudget } from "../../src/schedule/lowered-budget.js";

const limits = { mostCost: 12, leastBytes: 200 };
const found = Int32Array.of(0);

function begin(isExact = true): LoweredBudget {
  const lowered = new LoweredBudget(limits, { plainBytes: 1000, nodeCount: 10, isExact });
  lowered.lower(found, 1000, 10, 0);
  return lowered;
}

test("only a smaller peak within the cost counts", () => {
  const lowered = begin();
  expect(lowered.isBetter(999, 12)).toBe(true);
  expect(lowered.isBetter(999, 12.1)).toBe(false);
  expect(lowered.isBetter(1000, 10)).toBe(false);
});

test("steps grow if schedules are found quickly, and shrink after changes without one", () => {
  const lowered = begin();
  expect(lowered.budgetBytes).toBe(1000 - 800 / 32);
  lowered.lower(found, 970, 11, 5);
  expect(lowered.budgetBytes).toBe(970 - 800 / 16);
  expect(lowered.raise(104)).toBe(false);
  expect(lowered.raise(105)).toBe(true);
  expect(lowered.budgetBytes).toBe(970 - 800 / 32);
  // At the smallest step, the search stays.
  let changes = 105;
  while (lowered.raise((changes += 100))) expect(changes).toBeLessThan(5000);
  expect(lowered.budgetBytes).toBe(969);
});

test("no budget is below what every schedule needs", () => {
  const lowered = begin();
  lowered.lower(found, 201, 11, 1);
  expect(lowered.budgetBytes).toBe(200);
});

test("a round that moves far aims further below, until it finds something", () => {
  const lowered = begin();
  lowered.beginRound(true, 0);
  expect(lowered.budgetBytes).toBe(800);
  expect(lowered.raise(1e6)).toBe(false);
  lowered.beginRound(true, 0);
  expect(lowered.budgetBytes).toBe(950);
  lowered.lower(found, 940, 12, 1000);
  expect(lowered.budgetBytes).toBe(940 - 25);
  lowered.beginRound(false, 2000);
  expect(lowered.budgetBytes).toBe(940 - 25);
});

test("budgets of sizes that are not whole numbers are not rounded", () => {
  const lowered = begin(false);
  lowered.lower(found, 970.5, 11, 50);
  expect(lowered.budgetBytes).toBe(970.5 - 25);
});
