import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { expect, test } from "vitest";
import { planningGraph, withLink } from "../../src/graph/planning-graph.js";
import { exactSchedule } from "../../src/schedule/exact-schedule.js";
import { ScheduleSearch } from "../../src/schedule/schedule-search.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { randomGraphs } from "../random-graphs.js";

const inOrder = (count: number) => Array.from({ length: count }, (_, v) => v);

test.each([
  ["fixed", undefined],
  ["free", undefined],
  ["fixed", 3],
  ["free", 3],
] as const)("annealing never finds a cheaper or smaller schedule, order %s, link %s", (order, bytesPerCost) => {
  const given = checkedShare();
  const isFree = order === "free";
  let tight = 0;
  fc.assert(
    fc.property(randomGraphs(7), fc.double({ min: 0.4, max: 1, noNaN: true }), (drawn, share) => {
      const graph = bytesPerCost === undefined ? drawn : withLink(drawn, bytesPerCost);
      const plain = simulateSchedule(graph, inOrder(graph.nodeCount))!;
      const budgetBytes = Math.max(1, Math.floor(share * plain.peakBytes));
      const exact = exactSchedule(graph, budgetBytes, isFree);
      expect(exact).toBeDefined();
      const annealing = new ScheduleSearch(graph, { budgetBytes, seed: 1, isFree });
      annealing.run(1500);
      if (exact!.sequence === undefined) {
        expect(annealing.best).toBeUndefined();
        return;
      }
      const found = simulateSchedule(graph, exact!.sequence)!;
      expect(found.peakBytes).toBeLessThanOrEqual(budgetBytes);
      for (let v = 0; v < graph.nodeCount; v++)
        if (graph.recomputable[v] === 0) expect(exact!.sequence.filter((u) => u === v)).toHaveLength(1);
      if (!isFree) expect([...new Set(exact!.sequence.filter((step) => step >= 0))]).toEqual(inOrder(graph.nodeCount));
      if (!given(annealing.best)) return;
      expect(found.cost).toBeLessThanOrEqual(annealing.bestCost * (1 + 1e-12));
      if (found.cost === annealing.bestCost) expect(found.peakBytes).toBeLessThanOrEqual(annealing.bestPeakBytes);
      if (budgetBytes < plain.peakBytes) tight++;
    }),
    { numRuns: 150 },
  );
  expect(tight).toBeGreaterThan(0);
});

const chain = (count: number, outputBytes: number) =>
  planningGraph(
    inOrder(count).map((v) => ({
      name: `n${v}`,
      cost: 1,
      outputBytes: [outputBytes],
      inputs: v === 0 ? [] : [[v - 1, 0] as const],
    })),
  );

test("a graph of more than 16 nodes or values, or of fractions of bytes, is left to annealing", () => {
  expect(exactSchedule(chain(16, 2), 4, false)?.sequence).toHaveLength(16);
  expect(exactSchedule(chain(17, 2), 4, false)).toBeUndefined();
  expect(exactSchedule(chain(4, 0.5), 4, false)).toBeUndefined();
  const wide = planningGraph([{ name: "a", cost: 1, outputBytes: new Array(17).fill(1), inputs: [] }]);
  expect(exactSchedule(wide, 20, false)).toBeUndefined();
});

test("the search stops on a graph with too many states, in a time that does not depend on the graph", () => {
  const sources = inOrder(15).map((v) => ({ name: `n${v}`, cost: 1, outputBytes: [1], inputs: [] }));
  const reader = { name: "sum", cost: 1, outputBytes: [1], inputs: inOrder(15).map((v) => [v, 0] as const) };
  expect(exactSchedule(planningGraph([...sources, reader]), 15, true)).toBeUndefined();
});
