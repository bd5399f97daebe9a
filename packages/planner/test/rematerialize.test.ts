import { dailyRuns } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type PlanningGraph, planningGraph } from "../src/graph/planning-graph.js";
import { rematerialize } from "../src/rematerialize.js";
import { ScheduleSearch } from "../src/schedule/schedule-search.js";
import { simulateSchedule } from "../src/schedule/simulate-schedule.js";
import { cheapestCost, plainPeak, smallestBudget, telltaleBudgets } from "./exhaustive-search.js";
import { allGraphs, someGraphs } from "./random-graphs.js";
import { simulateByDefinition } from "./reference-simulator.js";

describe.each([
  // 11 of these 74 graphs can have a lower peak than in the given order.
  ["all graphs of up to 4 nodes", 3000, [...allGraphs(2), ...allGraphs(3), ...allGraphs(4)], false, 0.15],
  ["graphs of 5 nodes", 4000, someGraphs(5, 200), true, 0.5],
  ["graphs of 6 nodes", 10_000, someGraphs(6, 90), true, 0.5],
  ["graphs of 7 nodes", 10_000, someGraphs(7, 75), true, 0.5],
])("%s", (_name, iterations, all, canHoldLess, atLeast) => {
  const graphsOf = (isFree: boolean) =>
    canHoldLess ? all.filter((graph) => smallestBudget(graph, isFree) < plainPeak(graph)) : all;

  test.each(["fixed", "free"] as const)("cost what the cheapest schedule costs, order %s", async (order) => {
    const given = checkedShare(atLeast);
    const isFree = order === "free";
    for (const graph of graphsOf(isFree)) {
      for (const budgetBytes of telltaleBudgets(graph, isFree)) {
        const cheapest = cheapestCost(graph, budgetBytes, isFree);
        const found = await rematerialize(graph, { budgetBytes, order, iterations, boundTimeMs: 0 });
        const { peakBytes, cost } = simulateByDefinition(graph, [...found.sequence]);
        expect(found).toMatchObject({ peakBytes, cost, isFeasible: cheapest !== undefined });
        expect(found.isProvenInfeasible).toBe(cheapest === undefined);
        given(cheapest !== undefined && budgetBytes < plainPeak(graph));
        if (cheapest === undefined) continue;
        expect(peakBytes).toBeLessThanOrEqual(budgetBytes);
        expect(cost).toBe(cheapest);
        expect(found).toMatchObject({ gap: 0, lowerBound: cost });
      }
    }
  });

  test.each(["fixed", "free"] as const)("annealing finds the cheapest schedule of these, too, order %s", (order) => {
    const given = checkedShare(atLeast);
    const isFree = order === "free";
    for (const graph of graphsOf(isFree)) {
      for (const budgetBytes of telltaleBudgets(graph, isFree)) {
        const cheapest = cheapestCost(graph, budgetBytes, isFree);
        const search = new ScheduleSearch(graph, { budgetBytes, seed: 0, isFree });
        for (let left = iterations; left > 0 && !(search.bestCost <= (cheapest ?? 0)); left -= 50) search.run(50);
        expect(search.best === undefined).toBe(cheapest === undefined);
        given(cheapest !== undefined && budgetBytes < plainPeak(graph));
        if (cheapest === undefined) continue;
        const { peakBytes, cost } = simulateByDefinition(graph, [...search.best!]);
        expect(peakBytes).toBeLessThanOrEqual(budgetBytes);
        expect([cost, search.bestCost]).toEqual([cheapest, cheapest]);
      }
    }
  });
});

/** A forward and a backward pass over `layers` layers; each backward node reads its layer's input. */
function trainingGraph(layers: number) {
  const nodes = [{ name: "x", cost: 0, outputBytes: [8], inputs: [] as (readonly [number, number])[] }];
  for (let l = 1; l <= layers; l++)
    nodes.push({ name: `f${l}`, cost: 1 + (l % 3), outputBytes: [8 - (l % 4)], inputs: [[l - 1, 0]] });
  for (let l = layers; l >= 1; l--)
    nodes.push({
      name: `b${l}`,
      cost: 2,
      outputBytes: [4],
      inputs: [
        [nodes.length - 1, 0],
        [l - 1, 0],
      ],
    });
  return planningGraph(nodes);
}

describe.each([
  ["no costs", fc.constant(0)],
  ["many costs of 0", fc.oneof(fc.constant(0), fc.nat(4))],
])("graphs with %s, and some bytes of 0", (_name, cost) => {
  const graphOf = (specs: readonly { cost: number; bytes: number; reads: readonly number[] }[]) =>
    planningGraph(
      specs.map(({ cost, bytes, reads }, v) => ({
        name: `n${v}`,
        cost,
        outputBytes: [bytes],
        inputs: [...new Set(reads)].filter((u) => u < v).map((u) => [u, 0] as const),
      })),
    );
  const graphs = fc
    .array(fc.record({ cost, bytes: fc.nat(8), reads: fc.array(fc.nat(6), { maxLength: 3 }) }), {
      minLength: 5,
      maxLength: 7,
    })
    .map(graphOf);
  /**
   * A budget as a share of the plain order's peak, or between the smallest that a schedule meets (0) and the plain
   * order's peak. `tooSmall` is below the smallest.
   */
  type Budget = { readonly ofPeak: number } | { readonly between: number } | "tooSmall";
  const budgets: fc.Arbitrary<Budget> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ between: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }) }) },
    { weight: 1, arbitrary: fc.constant("tooSmall" as const) },
  );
  const missedByAnnealing = {
    // FAST_CHECK_SEED=47545: annealing finds a cost of 8.
    fixed: [
      graphOf([
        { cost: 2, bytes: 1, reads: [] },
        { cost: 1, bytes: 3, reads: [] },
        { cost: 0, bytes: 0, reads: [] },
        { cost: 0, bytes: 3, reads: [0] },
        { cost: 0, bytes: 0, reads: [3, 1] },
        { cost: 0, bytes: 1, reads: [0] },
        { cost: 1, bytes: 2, reads: [] },
      ]),
      { ofPeak: 0.8571428571428571 },
    ],
    // FAST_CHECK_SEED=102978: annealing finds a cost of 3.
    free: [
      graphOf([
        { cost: 1, bytes: 1, reads: [] },
        { cost: 0, bytes: 3, reads: [0] },
        { cost: 0, bytes: 4, reads: [0] },
        { cost: 0, bytes: 2, reads: [] },
        { cost: 0, bytes: 6, reads: [] },
        { cost: 0, bytes: 4, reads: [4] },
        { cost: 1, bytes: 0, reads: [0, 5] },
      ]),
      { ofPeak: 0.9090909090909091 },
    ],
  } satisfies Record<string, [PlanningGraph, Budget]>;

  test.each(["fixed", "free"] as const)("cost what the cheapest schedule costs, order %s", async (order) => {
    const given = checkedShare();
    const isFree = order === "free";
    await fc.assert(
      fc.asyncProperty(graphs, budgets, async (graph, budget) => {
        const plainBytes = plainPeak(graph);
        const least = smallestBudget(graph, isFree);
        fc.pre(least > 1 && least < plainBytes);
        const budgetBytes =
          budget === "tooSmall"
            ? least - 1
            : "ofPeak" in budget
              ? Math.floor(budget.ofPeak * plainBytes)
              : Math.floor(least + budget.between * (plainBytes - least));
        const cheapest = cheapestCost(graph, budgetBytes, isFree);
        const found = await rematerialize(graph, { budgetBytes, order, iterations: 4000, boundTimeMs: 0 });
        expect(found.isFeasible).toBe(cheapest !== undefined);
        if (given(cheapest)) expect(found.cost).toBe(cheapest);
        else expect(found.peakBytes).toBeGreaterThan(budgetBytes);
      }),
      { numRuns: dailyRuns(250), examples: [missedByAnnealing[order]] },
    );
  });
});

test("the same graph, seed and count give the same schedule; another seed mostly another", async () => {
  const graph = trainingGraph(40);
  const options = { budgetBytes: 120, iterations: 5000, boundTimeMs: 0 };
  const [one, same, other] = await Promise.all([
    rematerialize(graph, { ...options, seed: 1 }),
    rematerialize(graph, { ...options, seed: 1 }),
    rematerialize(graph, { ...options, seed: 2 }),
  ]);
  expect(same.sequence).toEqual(one.sequence);
  expect(same.iterations).toBe(5000);
  expect(other.sequence).not.toEqual(one.sequence);
});

test("a timed schedule is found again from its count", async () => {
  const graph = trainingGraph(30);
  const timed = await rematerialize(graph, { budgetBytes: 90, timeMs: 60, seed: 3, boundTimeMs: 0 });
  const counted = await rematerialize(graph, {
    budgetBytes: 90,
    iterations: timed.iterations,
    seed: 3,
    boundTimeMs: 0,
  });
  expect(counted.sequence).toEqual(timed.sequence);
});

test.each([
  [20, 100, true],
  [20, 80, true],
  [12, 60, true],
  [30, 90, false],
  [30, 130, false],
])(
  "a counted schedule of %i layers within %i bytes is the same on a fast and on a slow machine",
  async (layers, budgetBytes, hasBound) => {
    const graph = trainingGraph(layers);
    const now = performance.now.bind(performance);
    const began = now();
    const found = [];
    // How many times as much time goes by as on this machine.
    for (const slowness of [0.001, 0.1, 1, 20]) {
      const clock = vi.spyOn(performance, "now").mockImplementation(() => began + slowness * (now() - began));
      try {
        const bound = hasBound ? { boundTimeMs: 60_000 } : { boundTimeMs: 0 };
        const { seconds: _, ...schedule } = await rematerialize(graph, {
          budgetBytes,
          iterations: 1070,
          seed: 3,
          ...bound,
        });
        found.push(schedule);
      } finally {
        clock.mockRestore();
      }
    }
    for (const schedule of found) expect(schedule).toEqual(found[0]);
  },
);

test("a plan proven optimal says so and ends the search early", async () => {
  const graph = trainingGraph(20);
  const found = await rematerialize(graph, { budgetBytes: 100, timeMs: 20_000 });
  expect(found).toMatchObject({ isFeasible: true, gap: 0 });
  expect(found.lowerBound).toBe(found.cost);
  expect(found.seconds).toBeLessThan(15);
});

test("the smaller of two equally cheap schedules counts, whichever was found first", async () => {
  const source = (name: string) => ({ name, cost: 0, outputBytes: [8], inputs: [] });
  const reader = (name: string, read: number) => ({
    name,
    cost: 1,
    outputBytes: [1],
    inputs: [[read, 0]] as (readonly [number, number])[],
  });
  const graph = planningGraph([source("a"), source("b"), source("c"), reader("f", 0), reader("g", 1), reader("h", 2)]);
  const sequences = [
    [0, 1, 2, 3, 4, 5],
    [0, 1, 2, 3, 1, 4, 2, 5],
    [0, 1, 2, 0, 3, 1, 4, 2, 5],
  ];
  const peaks = sequences.map((sequence) => simulateByDefinition(graph, sequence).peakBytes);
  const costs = sequences.map((sequence) => simulateByDefinition(graph, sequence).cost);
  expect(new Set(costs).size).toBe(1);
  expect(peaks[2]).toBeLessThan(peaks[1]);
  expect(peaks[1]).toBeLessThan(peaks[0]);
  for (const starts of [sequences, [...sequences].reverse()]) {
    const found = await rematerialize(graph, { budgetBytes: 1000, starts, iterations: 0, boundTimeMs: 0 });
    expect(found).toMatchObject({ peakBytes: peaks[2], cost: costs[0] });
  }
});

test("a budget that the plain order meets costs nothing", async () => {
  const graph = trainingGraph(5);
  expect(await rematerialize(graph, { budgetBytes: 1000 })).toMatchObject({
    overhead: 0,
    gap: 0,
    iterations: 0,
    isFeasible: true,
  });
});

test("a budget below the working set is proven infeasible, and the smallest peak found is given", async () => {
  const graph = trainingGraph(12);
  const found = await rematerialize(graph, { budgetBytes: 10, iterations: 20_000 });
  expect(found).toMatchObject({ isFeasible: false, isProvenInfeasible: true });
  expect(graph.nodeName(found.workingSet.node)).toMatch(/^b/);
  expect(found.peakBytes).toBeGreaterThanOrEqual(found.workingSet.bytes);
  expect(found.peakBytes).toBeLessThan(found.plain.peakBytes);
  expect(simulateByDefinition(graph, [...found.sequence]).peakBytes).toBe(found.peakBytes);
});

test("it stops when told to, and says how far it has come", async () => {
  const controller = new AbortController();
  const seen: number[] = [];
  const found = await rematerialize(trainingGraph(60), {
    budgetBytes: 60,
    timeMs: 60_000,
    boundTimeMs: 0,
    signal: controller.signal,
    onProgress: ({ iterations }) => {
      seen.push(iterations);
      if (seen.length === 2) controller.abort();
    },
  });
  expect(seen).toHaveLength(2);
  expect(found.iterations).toBeGreaterThanOrEqual(seen[1]);
});

test("nodes without cost or bytes are legal", async () => {
  const graph = planningGraph([
    { name: "a", cost: 0, outputBytes: [0], inputs: [] },
    { name: "b", cost: 0, outputBytes: [3], inputs: [[0, 0]] },
    { name: "c", cost: 0, outputBytes: [5], inputs: [[1, 0]] },
    { name: "d", cost: 0, outputBytes: [0], inputs: [[1, 0]] },
  ]);
  expect(await rematerialize(graph, { budgetBytes: 8 })).toMatchObject({ isFeasible: true, overhead: 0 });
  expect(await rematerialize(graph, { budgetBytes: 7, iterations: 500 })).toMatchObject({ isFeasible: false });
});

test.each([
  [{ budgetBytes: 0 }, "the budget must be bytes above 0; found 0. Pass a number, such as 0.9 * plain.peakBytes."],
  [{ budgetBytes: "2GB" as unknown as number }, 'the budget must be bytes above 0; found "2GB"'],
  [{ budgetBytes: Number.NaN }, "the budget must be bytes above 0; found null"],
  [{ budgetBytes: 5, iterations: -1 }, "iterations must be a number of at least 0; found -1."],
])("options %j are refused", async (options, message) => {
  await expect(rematerialize(trainingGraph(3), options)).rejects.toThrow(message);
});

test("bytes may be fractions; the budget holds to the last digit", async () => {
  const whole = trainingGraph(25);
  const graph = { ...whole, bytes: whole.bytes.map((bytes) => bytes * 0.1) };
  const found = await rematerialize(graph, { budgetBytes: 10.1, iterations: 20_000 });
  expect(found.isFeasible).toBe(true);
  expect(simulateSchedule(graph, found.sequence)!.peakBytes).toBeLessThanOrEqual(10.1);
});

test("a budget between whole bytes allows what the whole bytes below it allow", async () => {
  const graph = trainingGraph(25);
  for (const budgetBytes of [100, 100.1, 100.3, 100.7]) {
    const found = await rematerialize(graph, { budgetBytes, iterations: 20_000, boundTimeMs: 0 });
    const whole = await rematerialize(graph, { budgetBytes: 100, iterations: 20_000, boundTimeMs: 0 });
    expect(found.sequence).toEqual(whole.sequence);
  }
});
