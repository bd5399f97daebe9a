import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { periodicCheckpoints } from "../../src/blocks/periodic-checkpoints.js";
import { type PlanningGraph, planningGraph } from "../../src/graph/index.js";
import { planSchedules, rematerialize, simulateSchedule } from "../../src/index.js";
import { randomGraphs, trainingGraphs } from "../random-graphs.js";

/** A chain of layers, forward and backward, each of one cost. */
function chain(layers: number): PlanningGraph {
  const forward = Array.from({ length: layers }, (_, l) => ({
    name: `f${l}`,
    inputs: l === 0 ? [] : [[l - 1, 0] as const],
  }));
  const backward = Array.from({ length: layers }, (_, i) => ({
    name: `b${layers - 1 - i}`,
    inputs: [[layers + i - 1, 0] as const, [layers - 1 - i, 0] as const],
  }));
  return planningGraph([...forward, ...backward].map((node) => ({ ...node, cost: 1, outputBytes: [8] })));
}

const plainOf = (graph: PlanningGraph) =>
  simulateSchedule(
    graph,
    Array.from({ length: graph.nodeCount }, (_, v) => v),
  )!;

test.each([400, 2500, 10_000])(
  "a chain of %i layers fits in a few square roots of its memory, at the cost of one pass",
  (layers) => {
    const graph = chain(layers);
    const plain = plainOf(graph);
    const budgetBytes = 8 * (2 * Math.sqrt(layers) + 8);
    const found = simulateSchedule(graph, periodicCheckpoints(graph, budgetBytes)!)!;
    expect(found.peakBytes).toBeLessThanOrEqual(budgetBytes);
    expect(found.cost - plain.cost).toBeLessThanOrEqual(layers);
  },
);

test("makes no more of the pass again than the budget asks for", () => {
  const graph = chain(2000);
  const plain = plainOf(graph);
  const half = simulateSchedule(graph, periodicCheckpoints(graph, 0.5 * plain.peakBytes)!)!;
  expect(half.peakBytes).toBeLessThanOrEqual(0.5 * plain.peakBytes);
  // Half of the values are freed, each recomputed once; a stretch and a halving of the pass are room.
  expect(half.cost - plain.cost).toBeLessThanOrEqual(1.1 * 1000);
});

test("is a schedule that can run, of any graph, and holds less than the plain order", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(
      fc.oneof(randomGraphs(14), { weight: 3, arbitrary: trainingGraphs }),
      fc.double({ min: 0.3, max: 1, noNaN: true }),
      (graph, share) => {
        const plain = plainOf(graph);
        const sequence = periodicCheckpoints(graph, share * plain.peakBytes);
        if (!given(sequence)) return;
        const found = simulateSchedule(graph, sequence);
        expect(found?.peakBytes).toBeLessThan(plain.peakBytes);
        const runs = new Map<number, number>();
        for (const v of sequence) runs.set(v, (runs.get(v) ?? 0) + 1);
        for (const [v, count] of runs) if (graph.recomputable[v] === 0) expect(count).toBe(1);
      },
    ),
    { numRuns: 500 },
  );
});

describe("a large chain gets an answer before the search has looked at it", () => {
  const graph = chain(3000);
  const budgetBytes = 0.5 * plainOf(graph).peakBytes;

  test("from rematerialize", async () => {
    expect(await rematerialize(graph, { budgetBytes, iterations: 1, boundTimeMs: 0 })).toMatchObject({
      isFeasible: true,
    });
  });

  test("from planSchedules, with no time at all", async () => {
    const { point, isProvenInfeasible } = await planSchedules(graph, { budgetBytes, timeMs: 1, boundTimeMs: 0 });
    expect(point?.schedule.peakBytes).toBeLessThanOrEqual(budgetBytes);
    expect(isProvenInfeasible).toBe(false);
  });
});
