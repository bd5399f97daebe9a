import fc from "fast-check";
import { expect, test } from "vitest";
import { workingSet } from "../../src/bound/working-set.js";
import { planSchedules } from "../../src/checkpointing/plan-schedules.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { chain } from "../chain.js";
import { cheapestCost, plainPeak } from "../exhaustive-search.js";
import { allGraphs, layeredGraphs, someGraphs } from "../random-graphs.js";

/** The steps of the search, as a fraction of the plain peak. */
const resolution = 0.0005;

test.each(["fixed", "free"] as const)(
  "on small graphs, no schedule within the overhead has a smaller peak, order %s",
  async (order) => {
    for (const graph of [...allGraphs(3), ...someGraphs(5, 12), ...someGraphs(6, 4)])
      for (const maxOverhead of [0, 0.2, 0.6]) {
        const { point } = await planSchedules(graph, { maxOverhead, order, iterations: 1000, boundTimeMs: 0 });
        const { peakBytes, cost, overhead, plain, sequence } = point!.schedule;
        expect(overhead).toBeLessThanOrEqual(maxOverhead);
        expect(point!.budgetBytes).toBe(peakBytes);
        expect(simulateSchedule(graph, sequence)).toMatchObject({ peakBytes, cost });
        const below = cheapestCost(graph, peakBytes - 1, order === "free") ?? Number.POSITIVE_INFINITY;
        expect(below).toBeGreaterThan((1 + maxOverhead) * plain.cost);
      }
  },
);

test("the overhead of a plan within a budget is enough for that budget", async () => {
  const effort = { iterations: 40_000, boundTimeMs: 0 };
  // Both searches are random. With fewer changes, or tighter budgets, their results may differ by more than a step.
  for (const graph of fc.sample(layeredGraphs(30, 60), { seed: 5, numRuns: 5 })) {
    const least = workingSet(graph, false).bytes;
    for (const share of [0.6, 0.9]) {
      const budgetBytes = least + share * (plainPeak(graph) - least);
      const { point } = await planSchedules(graph, { budgetBytes, ...effort });
      const { overhead, plain } = point!.schedule;
      const within = await planSchedules(graph, { maxOverhead: overhead, ...effort });
      expect(within.point!.schedule.overhead).toBeLessThanOrEqual(overhead + 1e-9);
      expect(within.point!.budgetBytes).toBeLessThanOrEqual(budgetBytes + resolution * plain.peakBytes);
    }
  }
});

test.each([0.9, 0.7])("a large graph needs few changes for an overhead, as for the budget %s", async (fraction) => {
  const graph = chain(1500);
  const effort = { iterations: 2000, boundTimeMs: 0 };
  const { point } = await planSchedules(graph, { budgetFraction: fraction, ...effort });
  const { overhead, plain } = point!.schedule;
  const within = await planSchedules(graph, { maxOverhead: overhead, ...effort });
  expect(within.point!.budgetBytes).toBeLessThanOrEqual(point!.budgetBytes + resolution * plain.peakBytes);
});

test("a large graph has an answer within the overhead even if there is no time to search", async () => {
  const graph = chain(1500);
  const { point } = await planSchedules(graph, { maxOverhead: 0.1, timeMs: 0 });
  expect(point!.schedule.overhead).toBeLessThanOrEqual(0.1);
  expect(point!.budgetBytes).toBeLessThan(0.8 * point!.schedule.plain.peakBytes);
});
