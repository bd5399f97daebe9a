import { expect, test, vi } from "vitest";
import { recomputationBound } from "../../src/bound/recomputation-bound.js";
import { type FrontOptions, ScheduleFront } from "../../src/checkpointing/schedule-front.js";
import { SharedEffort } from "../../src/checkpointing/search-effort.js";
import { runInTurn, type SearchRunner } from "../../src/checkpointing/search-runner.js";
import { planningGraph } from "../../src/graph/planning-graph.js";
import { loadHighs } from "../../src/load-highs.js";
import { cheapestCost, plainPeak, smallestBudget } from "../exhaustive-search.js";

/** Three layers and their backward pass: without recomputation it holds 4 values of 8 bytes, at least 3. */
const graph = planningGraph(
  [[], [0], [1], [2, 1], [3, 0]].map((inputs, v) => ({
    name: `n${v}`,
    cost: 1 + v,
    outputBytes: [8],
    inputs: inputs.map((u) => [u, 0] as const),
  })),
);
const peak = plainPeak(graph);
const least = smallestBudget(graph, false);
const cost = (budgetBytes: number) => cheapestCost(graph, budgetBytes, false)!;

/** A front whose searches are counted. */
async function begin(options: FrontOptions = {}, runner: SearchRunner = runInTurn(graph)) {
  const run = vi.fn(runner.run);
  const front = await ScheduleFront.begin(
    {
      graph,
      runner: { workers: runner.workers, run },
      effort: new SharedEffort({ iterations: 1e5 }, 10, performance.now(), 0),
      began: performance.now(),
    },
    { order: "fixed", seed: 0, ...options },
  );
  return { front, run };
}

test("has something to find", () => {
  expect(least).toBeLessThan(peak);
  expect(cost(least)).toBeGreaterThan(cost(peak));
});

test("a call that was already ended does not search or bound, and keeps known points", async () => {
  const { front, run } = await begin({ signal: AbortSignal.abort() });
  await front.searchBest(least, 1, 2);
  await front.searchSmallest(1);
  await front.searchEach([peak - 1, least], 1);
  await front.searchWithin(0.5, 1, 3);
  expect(run).not.toHaveBeenCalled();
  expect(front.cheapestWithin(least)).toBeUndefined();
  const known = front.cheapestWithin(peak)!;
  expect(known).toMatchObject({ peakBytes: peak, cost: cost(peak) });
  const loose = { ...known, lowerBound: 0, gap: 1 };
  expect(await front.bound(loose, 1)).toBe(loose);
});

test("a call that is ended in the midst of a search begins no other", async () => {
  const abort = new AbortController();
  const runner: SearchRunner = {
    workers: 1,
    run: async (tasks) => (abort.abort(), runInTurn(graph).run(tasks)),
  };
  const { front, run } = await begin({ signal: abort.signal }, runner);
  await front.searchEach([least], 1);
  expect(run).toHaveBeenCalledTimes(1);
  // Results of the search count.
  expect(front.cheapestWithin(least)).toMatchObject({ cost: cost(least) });
  const smallest = front.smallest().peakBytes;
  await front.searchWithin(1, 1, 5);
  expect(run).toHaveBeenCalledTimes(1);
  expect(front.smallest().peakBytes).toBe(smallest);
});

test("tells searches the signal, and who looks on what all have found so far", async () => {
  const { signal } = new AbortController();
  const told: unknown[] = [];
  const tasks: Parameters<SearchRunner["run"]>[0][number][] = [];
  const runner: SearchRunner = {
    workers: 2,
    run: (given) => {
      tasks.push(...given);
      for (const { onProgress } of given)
        onProgress?.({ elapsedMs: 0, iterations: 7, cost: undefined, smallestPeakBytes: 1e9 } as never);
      return runInTurn(graph).run(given.map(({ onProgress: _, ...task }) => task));
    },
  };
  const { front } = await begin({ signal, onProgress: (progress) => told.push(progress) }, runner);
  await front.searchBest(least, 1, 2);
  expect(tasks.map((task) => task.signal)).toEqual([signal, signal]);
  // Each search has a seed of its own, and the first alone is bounded.
  expect(tasks.map(({ seed }) => seed)).toEqual([0, 1]);
  expect(tasks.map(({ boundTimeMs }) => boundTimeMs)).toEqual([undefined, 0]);
  expect(told).toEqual(
    [0, 1].map(() => expect.objectContaining({ iterations: 7, cost: undefined, smallestPeakBytes: peak })),
  );
  await front.searchBest(least, 1, 1);
  // The plain schedule is not within the budget; the one found before is.
  expect(told.at(-1)).toMatchObject({ cost: cost(least), smallestPeakBytes: least });
});

test("finds for every budget what the cheapest schedule costs, and nothing below the smallest", async () => {
  const began = performance.now();
  const { front, run } = await begin();
  await front.searchBest(peak, 1, 1);
  for (let budgetBytes = peak; budgetBytes >= least; budgetBytes -= 8) {
    await front.searchBest(budgetBytes, 1, 1);
    expect(front.cheapestWithin(budgetBytes)).toMatchObject({ cost: cost(budgetBytes) });
    expect(front.isProvenInfeasible(budgetBytes)).toBe(false);
  }
  expect(front.cheapestWithin(least - 1)).toBeUndefined();
  expect(front.isProvenInfeasible(least - 1)).toBe(true);
  expect(front.smallest().peakBytes).toBe(least);
  expect(front.smallestWithin(0)).toMatchObject({ peakBytes: peak, overhead: 0 });
  // Since the call began, not since the clock did; and each change that was tried counts.
  const { seconds, iterations } = front.smallest();
  expect(seconds).toBeGreaterThan(0);
  expect(1000 * seconds).toBeLessThan(performance.now() - began);
  expect(iterations).toBe(
    (await Promise.all(run.mock.results.map(({ value }) => value)))
      .flat()
      .reduce((sum, found) => sum + (found?.iterations ?? 0), 0),
  );
});

test("searches nothing for a budget that the plain order keeps, nor for the smallest once it is found", async () => {
  const { front, run } = await begin();
  await front.searchBest(peak, 1, 1);
  expect(run).not.toHaveBeenCalled();
  await front.searchSmallest(1);
  const { length } = run.mock.calls;
  expect(length).toBeGreaterThan(0);
  expect(front.smallest().peakBytes).toBe(least);
  await front.searchSmallest(1);
  expect(run).toHaveBeenCalledTimes(length);
});

test("a bound is no more than the cheapest schedule costs; none is looked for in no time, or in a free order", async () => {
  const { front } = await begin();
  await front.searchBest(least, 1, 1);
  const loose = { ...front.cheapestWithin(least)!, lowerBound: 0, gap: 1 };
  const { extraCost } = await recomputationBound(graph, least, { timeLimitS: 10 });
  const bounded = await front.bound(loose, 1);
  expect(bounded.lowerBound).toBeCloseTo(Math.min(loose.cost, cost(peak) + extraCost), 6);
  expect(bounded.lowerBound).toBeLessThanOrEqual(cost(least) + 1e-6);
  expect(bounded.lowerBound).toBeGreaterThanOrEqual(cost(peak));
  expect(bounded.gap).toBe((bounded.cost - bounded.lowerBound) / bounded.cost);
  expect(await (await begin({ boundTimeMs: 0 })).front.bound(loose, 1)).toBe(loose);
  expect(await (await begin({ order: "free" })).front.bound(loose, 1)).toBe(loose);
});

test("the gap is what a schedule costs above what is proven, as a share of it", async () => {
  const { front } = await begin(
    {},
    {
      workers: 1,
      run: async (tasks) => (await runInTurn(graph).run(tasks)).map((found) => ({ ...found!, lowerBound: cost(peak) })),
    },
  );
  await front.searchBest(least, 1, 1);
  expect(front.cheapestWithin(least)).toMatchObject({
    cost: cost(least),
    lowerBound: cost(peak),
    gap: (cost(least) - cost(peak)) / cost(least),
  });
});

test("a search without a result returns its starting point", async () => {
  const { front } = await begin({}, { workers: 1, run: async (tasks) => tasks.map(() => undefined) });
  await front.searchBest(least, 1, 1);
  expect(front.cheapestWithin(peak)).toMatchObject({ cost: cost(peak), peakBytes: peak });
});

test.each([
  [4000, 4],
  [undefined, 2],
])("a bound is looked for as long as is asked for, %s ms, else two seconds", async (boundTimeMs, seconds) => {
  const { front } = await begin(boundTimeMs === undefined ? {} : { boundTimeMs });
  const highs = await loadHighs();
  const create = highs.createModel.bind(highs);
  const limits: unknown[] = [];
  const spy = vi.spyOn(highs, "createModel").mockImplementation(() => {
    const model = create();
    const set = model.options.set.bind(model.options);
    vi.spyOn(model.options, "set").mockImplementation((given: object) => {
      limits.push((given as { time_limit?: number }).time_limit);
      return set(given as never);
    });
    return model;
  });
  try {
    await front.bound({ ...front.plain, peakBytes: least, cost: cost(least), lowerBound: 0 }, 1);
  } finally {
    spy.mockRestore();
  }
  expect(limits.length).toBeGreaterThan(0);
  // Time left by the first program goes to the next.
  expect(Math.ceil(Math.max(...(limits as number[])))).toBe(seconds);
});
