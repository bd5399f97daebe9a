import fc from "fast-check";
import { expect, test } from "vitest";
import { freeUntilNextUse } from "../../src/blocks/free-until-next-use.js";
import { type PlanningGraph, planningGraph } from "../../src/graph/index.js";
import { rematerialize, simulateSchedule } from "../../src/index.js";
import { maxCopies } from "../../src/schedule/instances.js";
import { Random } from "../../src/schedule/random.js";
import { randomGraphs } from "../random-graphs.js";

const plainOf = (graph: PlanningGraph) =>
  simulateSchedule(
    graph,
    Array.from({ length: graph.nodeCount }, (_, v) => v),
  )!;

/** Nodes that read any of those before them: of stretches and blocks it has none. */
function tangle(nodes: number): PlanningGraph {
  const random = new Random(7);
  return planningGraph(
    Array.from({ length: nodes }, (_, v) => ({
      name: `n${v}`,
      cost: 1 + random.below(9),
      outputBytes: [10 + random.below(90)],
      inputs: [...new Set(Array.from({ length: Math.min(v, 3) }, () => random.below(v)))].map((u) => [u, 0] as const),
    })),
  );
}

test("a graph without stretches fits in nine tenths of its memory, before a search has looked at it", async () => {
  const graph = tangle(10_000);
  const budgetBytes = 0.9 * plainOf(graph).peakBytes;
  const found = await rematerialize(graph, { budgetBytes, iterations: 1, boundTimeMs: 0 });
  expect(found.isFeasible).toBe(true);
  expect(found.overhead).toBeLessThan(0.15);
});

test("is a schedule that can run, of any graph, in the order given, with what cannot be recomputed run once", () => {
  fc.assert(
    fc.property(randomGraphs(24), fc.double({ min: 0.2, max: 1, noNaN: true }), fc.nat(), (graph, share, seed) => {
      const plain = plainOf(graph);
      const sequence = freeUntilNextUse(graph, share * plain.peakBytes, seed);
      expect(simulateSchedule(graph, sequence)).toBeDefined();
      const runs = new Int32Array(graph.nodeCount);
      const first = sequence.filter((v) => runs[v]++ === 0);
      expect([...first]).toEqual(Array.from(first, (_, v) => v));
      for (const [v, count] of runs.entries())
        expect(count).toBeLessThanOrEqual(graph.recomputable[v] === 0 ? 1 : maxCopies);
      if (share === 1) expect(sequence).toEqual(first);
    }),
    { numRuns: 3000 },
  );
});

test("a chain of fifty thousand layers fits in half of its memory at the cost of half a pass", () => {
  const layers = 50_000;
  const graph = planningGraph(
    Array.from({ length: 2 * layers }, (_, v) => ({
      name: `n${v}`,
      cost: 1,
      outputBytes: [8],
      inputs: (v === 0 ? [] : v < layers ? [v - 1] : [v - 1, 2 * layers - 1 - v]).map((u) => [u, 0] as const),
    })),
  );
  const plain = plainOf(graph);
  const found = simulateSchedule(graph, freeUntilNextUse(graph, 0.5 * plain.peakBytes))!;
  expect(found.peakBytes).toBeLessThanOrEqual(0.5 * plain.peakBytes);
  expect(found.cost - plain.cost).toBeLessThanOrEqual(0.51 * layers);
});
