import { describe, expect, test } from "vitest";
import { recomputationBound } from "../../src/bound/recomputation-bound.js";
import { workingSet } from "../../src/bound/working-set.js";
import { planningGraph } from "../../src/graph/planning-graph.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { cheapestCost } from "../exhaustive-search.js";
import { allGraphs, someGraphs } from "../random-graphs.js";

describe.each([
  ["all graphs of 4 nodes", allGraphs(4)],
  ["some graphs of 5 nodes", someGraphs(5, 60)],
  ["some graphs of 6 nodes", someGraphs(6, 60)],
  ["some graphs of 7 nodes", someGraphs(7, 60)],
])("%s", (_name, graphs) => {
  test("no schedule is cheaper or smaller than the bounds", async () => {
    let tight = 0;
    let count = 0;
    for (const graph of graphs) {
      const plain = simulateSchedule(
        graph,
        Array.from({ length: graph.nodeCount }, (_, v) => v),
      )!;
      for (let budgetBytes = plain.peakBytes - 1; budgetBytes >= workingSet(graph, false).bytes; budgetBytes -= 2) {
        const cheapest = cheapestCost(graph, budgetBytes, false);
        const bound = await recomputationBound(graph, budgetBytes, { timeLimitS: 10 });
        if (cheapest === undefined) continue;
        count++;
        expect(bound.isInfeasible).toBe(false);
        expect(plain.cost + bound.extraCost).toBeLessThanOrEqual(cheapest);
        if (plain.cost + bound.extraCost === cheapest) tight++;
      }
      for (const isFree of [false, true])
        expect(cheapestCost(graph, workingSet(graph, isFree).bytes - 1, isFree)).toBeUndefined();
    }
    // A bound that is never reached would pass all the same.
    if (count > 0) expect(tight / count).toBeGreaterThan(0.5);
  });
});

test("a graph that is deep everywhere has a bound, too", async () => {
  const bytes = 1e9;
  const graph = planningGraph(
    Array.from({ length: 20_000 }, (_, v) => ({
      name: `n${v}`,
      cost: 1,
      outputBytes: [bytes],
      inputs: [v - 1, ...(v > 10 ? [v - 10] : [])].filter((from) => from >= 0).map((from) => [from, 0] as const),
    })),
  );
  expect(await recomputationBound(graph, 9.9 * bytes, { timeLimitS: 0.5 })).toEqual({
    extraCost: expect.any(Number),
    isInfeasible: false,
  });
});
