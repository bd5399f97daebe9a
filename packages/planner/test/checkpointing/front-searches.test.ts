import { afterEach, describe, expect, test, vi } from "vitest";
import { BlockPlans } from "../../src/blocks/block-plans.js";
import { helpedNodes } from "../../src/blocks/quick-starts.js";
import { workingSet } from "../../src/bound/working-set.js";
import { withLink } from "../../src/graph/planning-graph.js";
import { chain, graph, long, type Scripted, scripted, stopClock } from "./scripted-front.js";

afterEach(() => vi.restoreAllMocks());

describe("searching each of several budgets", () => {
  test("shares the effort among them and searches each twice", async () => {
    const { front, batches, budgets } = await scripted();
    await front.searchEach([5000, 4000, 3500, 3000], 8);
    expect(budgets()).toEqual([
      [3500, 3000],
      [3500, 3000],
    ]);
    expect(batches.flat().map(({ iterations }) => iterations)).toEqual([200, 200, 200, 200]);
    expect(batches.flat().map(({ boundTimeMs }) => boundTimeMs)).toEqual([undefined, undefined, 0, 0]);
    await front.searchEach([4000], 1);
    expect(batches).toHaveLength(2);
    await front.searchEach([3500], 2);
    expect(batches.slice(2).map(([{ iterations }]) => iterations)).toEqual([100, 100]);
  });

  test.each([
    // Each search needs 5 ms, and there are two for each budget.
    [40, 1, [1000, 2000, 3000, 3999]],
    [40, 2, [1000, 2000, 3000, 3999]],
    [39, 1, [1000, 2000, 3999]],
    [20, 1, [2000, 3999]],
    [20, 2, [1000, 2000, 3000, 3999]],
    [9, 1, [3999]],
  ])("takes as many as there is time for, equally spaced: %s ms, %s workers: %s", async (timeMs, workers, expected) => {
    stopClock();
    const { front, batches, budgets } = await scripted({ effort: { timeMs }, workers });
    await front.searchEach([1000, 2000, 3000, 3999], 10);
    expect(budgets()[0]).toEqual(expected);
    for (const { boundTimeMs } of batches[0]) expect(boundTimeMs).toBeUndefined();
  });

  test("searches the last one even if no time is left and it is not within reach yet", async () => {
    const clock = stopClock();
    const { front, budgets } = await scripted({ effort: { timeMs: 100 }, found: [{ peakBytes: 3000 }] });
    clock.ms += 100;
    await front.searchEach([3500, 3000], 1);
    // The second search would not find more in no time.
    expect(budgets()).toEqual([[3000]]);
  });
});

describe("plans of blocks", () => {
  const begun = () => vi.spyOn(BlockPlans.prototype, "prepare").mockResolvedValue();

  test.each([1000, 1])("are made once, of a large graph with a fixed order, with %s changes", async (iterations) => {
    const prepare = begun();
    const { signal } = new AbortController();
    const { front, batches } = await scripted({
      of: long,
      effort: { iterations },
      options: { signal, seed: undefined },
    });
    const { peakBytes } = front.plain;
    await front.searchEach([peakBytes - 2], 1);
    await front.searchBest(peakBytes - 1, 1, 1);
    expect(batches[0][0].seed).toBe(0);
    expect(prepare.mock.calls).toEqual([[iterations, signal, Number.POSITIVE_INFINITY]]);
    expect(prepare.mock.contexts).toEqual([new BlockPlans(long, 0)]);
  });

  test("take 40% of the time of a call", async () => {
    stopClock();
    const prepare = begun();
    const { front } = await scripted({ of: long, effort: { timeMs: 200 } });
    await front.searchBest(front.plain.peakBytes - 1, 1, 1);
    expect(prepare.mock.calls).toEqual([[150 * 200, undefined, 1000 + 0.4 * 200]]);
  });

  test.each([
    ["a graph with fewer nodes", { of: chain(helpedNodes / 2 - 1, 1000) }],
    ["a free order", { of: long, options: { order: "free" } }],
    ["values that may be offloaded", { of: withLink(long, 1e6) }],
    ["no effort", { of: long, effort: { iterations: 0 } }],
  ] satisfies [string, Scripted][])("are not made for %s", async (_, given) => {
    const prepare = begun();
    const { front, batches } = await scripted(given);
    await front.searchBest(front.plain.peakBytes - 1, 1, 1);
    expect(batches).toHaveLength(1);
    expect(prepare).not.toHaveBeenCalled();
  });

  test("leave half of the changes to searches that start from what is known", async () => {
    vi.spyOn(BlockPlans.prototype, "prepare").mockImplementation(async function (this: BlockPlans) {
      this.structure.push({ segments: 2, planned: 1 });
    });
    const { front, batches } = await scripted({ of: long });
    await front.searchBest(front.plain.peakBytes - 1, 5, 2);
    expect(batches.map((tasks) => tasks.map(({ iterations }) => iterations))).toEqual([
      [200, 50],
      [125, 125],
    ]);
    expect(batches[1].map(({ boundTimeMs }) => boundTimeMs)).toEqual([undefined, 0]);
  });

  test("are where half of the effort begins, a tenth begins from the plain order", async () => {
    stopClock();
    const start = Int32Array.of(1);
    vi.spyOn(BlockPlans.prototype, "prepare").mockImplementation(async function (this: BlockPlans) {
      this.structure.push({ segments: 2, planned: 1 });
    });
    const startsFor = vi.spyOn(BlockPlans.prototype, "startsFor").mockReturnValue([start]);
    const { front, batches } = await scripted({ of: long, effort: { timeMs: 1000 }, options: { seed: 3 }, workers: 2 });
    const budgetBytes = front.plain.peakBytes - 1;
    await front.searchBest(budgetBytes, 10, 2);
    expect(startsFor.mock.calls).toEqual([[budgetBytes]]);
    const [first, last] = batches;
    expect(first.map(({ starts }) => starts?.includes(start))).toEqual([true, false]);
    expect(first[1].starts).toEqual([]);
    expect(first.map(({ seed }) => seed)).toEqual([3, 3]);
    expect(first.map(({ timeMs }) => timeMs)).toEqual([500, 200]);
    expect(last.map(({ starts }) => starts?.includes(start))).toEqual([false, false]);
    expect(last.map(({ timeMs }) => timeMs)).toEqual([1000, 1000]);
    // Less time for the bound than it takes by default.
    expect(last.map(({ seed, boundTimeMs }) => [seed, boundTimeMs])).toEqual([
      [3, 600],
      [4, 0],
    ]);
  });
});

describe("bounds that are known", () => {
  test("hold for schedules with less memory, unless they were for a budget that cannot be met", async () => {
    const { front } = await scripted({
      found: [
        { peakBytes: 3500, overhead: 0.5, lowerBound: 7 },
        { peakBytes: 3000, overhead: 1, lowerBound: 8, isProvenInfeasible: true },
      ],
    });
    await front.searchBest(3500, 1, 1);
    await front.searchBest(3200, 1, 1);
    expect(front.plain.cost).toBe(6);
    expect(front.cheapestWithin(3500)).toMatchObject({ cost: 9, lowerBound: 7, gap: 2 / 9 });
    expect(front.cheapestWithin(3499)).toMatchObject({ cost: 12, lowerBound: 7, budgetBytes: 3499 });
    expect(front.cheapestWithin(3999)).toMatchObject({ cost: 9, lowerBound: 6 });
    expect(front.isProvenInfeasible(3200)).toBe(true);
    expect(front.isProvenInfeasible(3201)).toBe(false);
  });

  test("are forgotten with the schedules of a front that could not offload", async () => {
    const { front: other } = await scripted({
      found: [{ peakBytes: 3000, overhead: 0.5, lowerBound: 8, isProvenInfeasible: true }],
    });
    await other.searchBest(3000, 1, 1);
    const { front } = await scripted();
    front.learnFrom(other);
    expect(front.cheapestWithin(3000)).toMatchObject({ cost: 9, lowerBound: 6 });
    expect(front.isProvenInfeasible(3000)).toBe(false);
  });
});

test("of equally good schedules, the cheaper and the smaller one is returned", async () => {
  const { front } = await scripted({
    found: [
      { peakBytes: 3000, overhead: 0.5 },
      { peakBytes: 2900, overhead: 0.6 },
      { peakBytes: 2900, overhead: 0.5 },
      { peakBytes: 2950, overhead: 0.5 },
    ],
  });
  for (let i = 0; i < 4; i++) await front.searchBest(3500, 1, 1);
  expect(front.cheapestWithin(3500)).toMatchObject({ peakBytes: 2900, overhead: 0.5 });
  expect(front.smallest()).toMatchObject({ peakBytes: 2900, overhead: 0.5 });
  expect(front.smallestWithin(0.5)).toMatchObject({ peakBytes: 2900 });
  // An overhead is rounded.
  expect(front.smallestWithin(0.5 - 1e-10)).toMatchObject({ peakBytes: 2900 });
  expect(front.smallestWithin(0.49)).toMatchObject({ peakBytes: 4000 });
});

test("the smallest peak is searched for within what one node needs", async () => {
  const { front, budgets } = await scripted({ found: [{ peakBytes: 3000 }] });
  await front.searchSmallest(1);
  expect(budgets()).toEqual([[workingSet(graph, false).bytes]]);
});

test("progress is that of the whole call", async () => {
  const clock = stopClock();
  const told: unknown[] = [];
  const onProgress = (progress: unknown) => told.push(progress);
  const { front, batches } = await scripted({ options: { onProgress }, found: [{ iterations: 30 }] });
  await front.searchBest(3500, 1, 1);
  clock.ms += 50;
  await front.searchBest(3500, 1, 1);
  const progress = { elapsedMs: 1, iterations: 7, cost: 8, smallestPeakBytes: 3900, lowerBound: 6 };
  for (const [{ onProgress: report }] of batches) report!(progress);
  const elapsedMs = 50;
  expect(told).toEqual([
    { ...progress, elapsedMs, iterations: 7 },
    { ...progress, elapsedMs, iterations: 37 },
  ]);
});
