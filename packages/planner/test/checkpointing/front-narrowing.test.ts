import { expect, test } from "vitest";
import { type Found, scripted } from "./scripted-front.js";

/** A front that knows a schedule of 2,000 bytes with an overhead of 1, besides the plain one of 4,000. */
async function begin(found: Found[] = [], first: Found = { peakBytes: 2000, overhead: 1 }) {
  const { signal } = new AbortController();
  const made = await scripted({ found: [first, ...found], options: { signal } });
  expect(made.front.plain.peakBytes).toBe(4000);
  await made.front.searchBest(3000, 1, 1);
  made.batches.length = 0;
  return made;
}

test("tries the middle, and where the straight line has the overhead after a step in vain", async () => {
  const { front, batches, budgets } = await begin([
    { peakBytes: 2900, overhead: 0.5 },
    { peakBytes: 3500, overhead: 0.2 },
    { peakBytes: 3200, overhead: 0.3 },
  ]);
  await front.narrow(0.2, 4, 1);
  // 4000 - 0.2 / 0.5 · 1100; (3500 + 2900) / 2; at 3500 nothing is left over.
  expect(budgets()).toEqual([[3000], [3560], [3200], [3500]]);
  expect(batches.flat().map(({ iterations }) => iterations)).toEqual([25, 25, 25, 25]);
  expect(front.smallestWithin(0.2)).toMatchObject({ peakBytes: 3500, overhead: 0.2 });
});

test("measures the line from the overhead of what fits", async () => {
  const { front, budgets } = await begin([
    { peakBytes: 3600, overhead: 0.1 },
    { peakBytes: 2800, overhead: 0.5 },
  ]);
  await front.narrow(0.2, 3, 1);
  // 3600 - 0.1 / 0.4 · 800, after (3600 + 2000) / 2 was in vain.
  expect(budgets()).toEqual([[3000], [2800], [3400]]);
});

test("goes on from the cheapest of the largest that cost too much", async () => {
  const { front, budgets } = await begin([
    { peakBytes: 3000, overhead: 0.9 },
    { peakBytes: 3000, overhead: 0.5 },
    { peakBytes: 2500, overhead: 0.4 },
  ]);
  await front.narrow(0.25, 4, 1);
  // 4000 - 0.25 / 0.9 · 1000; the middle; 4000 - 0.25 / 0.5 · 1000.
  expect(budgets()).toEqual([[3000], [3722], [3500], [3500]]);
});

test.each([
  [3992, 1],
  [3993, 0],
])("ends once 0.2%% of the peak is left: %s of 4000 bytes", async (peakBytes, searches) => {
  const { front, batches } = await begin([], { peakBytes, overhead: 1 });
  await front.narrow(0.2, 1, 1);
  expect(batches).toHaveLength(searches);
});

test("does nothing if the smallest peak fits", async () => {
  const { front, batches } = await begin();
  await front.narrow(1, 4, 1);
  expect(batches).toEqual([]);
});
