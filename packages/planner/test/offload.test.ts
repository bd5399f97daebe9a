import { dailyRuns } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { freeUntilNextUse } from "../src/blocks/free-until-next-use.js";
import { recomputationBound } from "../src/bound/recomputation-bound.js";
import { workingSet } from "../src/bound/working-set.js";
import { type PlanningGraph, planningGraph, withLink } from "../src/graph/index.js";
import { planSchedules, rematerialize } from "../src/index.js";
import { Moves } from "../src/schedule/moves.js";
import { Random } from "../src/schedule/random.js";
import { Schedule } from "../src/schedule/schedule.js";
import { simulateSchedule } from "../src/schedule/simulate-schedule.js";
import { cheapestCost, smallestBudget, telltaleBudgets } from "./exhaustive-search.js";
import { randomGraphs, someGraphs } from "./random-graphs.js";
import { simulateByDefinition } from "./reference-simulator.js";

const plainOf = (graph: PlanningGraph) => Array.from({ length: graph.nodeCount }, (_, v) => v);
const peakOf = (graph: PlanningGraph) => simulateSchedule(graph, plainOf(graph))!.peakBytes;

/** The graph with transfers at whole costs, of every fifth node none, and without recomputation of some that have them. */
function linked(graph: PlanningGraph, seed: number): PlanningGraph {
  const random = new Random(seed);
  const transfers = {
    offload: new Float64Array(graph.nodeCount).fill(Number.POSITIVE_INFINITY),
    reload: new Float64Array(graph.nodeCount).fill(Number.POSITIVE_INFINITY),
  };
  const recomputable = graph.recomputable.slice();
  for (let v = 0; v < graph.nodeCount; v++) {
    const isSingle = graph.outputs.start[v + 1] - graph.outputs.start[v] === 1;
    if (!isSingle || graph.result[graph.outputs.values[graph.outputs.start[v]]] === 1) continue;
    if (random.next() < 0.2) continue;
    if (random.next() < 0.3) recomputable[v] = 0;
    transfers.offload[v] = random.below(4);
    transfers.reload[v] = 1 + random.below(3);
  }
  return { ...graph, recomputable, transfers, cost: graph.cost.map((cost) => 3 * cost) };
}

test("memory and cost stay those of the sequence, whatever is offloaded, moved and undone", () => {
  fc.assert(
    fc.property(randomGraphs(10), fc.nat(30), fc.nat(), fc.boolean(), (plain, budgetBytes, seed, isFree) => {
      const graph = linked(plain, seed);
      const schedule = new Schedule(graph, budgetBytes, plainOf(graph));
      const random = new Random(seed);
      const moves = new Moves(schedule, random, isFree);
      const kinds = [
        () => moves.recompute(),
        () => moves.relocate(),
        () => moves.takeOut(),
        () => moves.shift(),
        () => moves.exchange(),
        () => moves.offloadInstead(),
      ];
      const expectConsistent = () => {
        const sequence = [...schedule.sequence()];
        const { memory, cost } = simulateByDefinition(graph, sequence);
        const held: number[] = [];
        for (let x = schedule.next(-1); schedule.nodeOf(x) !== schedule.end; x = schedule.next(x))
          held.push(schedule.memoryAt(x));
        expect(held).toEqual(memory);
        expect(schedule.cost).toBe(cost);
        expect(simulateSchedule(graph, sequence)).toMatchObject({ cost });
      };
      for (let i = 0; i < 60; i++) {
        const before = [...schedule.sequence()];
        schedule.mark();
        kinds[random.below(kinds.length)]();
        expectConsistent();
        if (random.next() < 0.4) {
          schedule.undo();
          expect([...schedule.sequence()]).toEqual(before);
          expectConsistent();
        }
        const first = new Set([...schedule.sequence()].map((v) => (v < 0 ? ~v : v)));
        if (!isFree) expect([...first]).toEqual(plainOf(graph));
      }
    }),
    { numRuns: dailyRuns(150) },
  );
});

describe.each([
  ["graphs of 5 nodes", 5000, someGraphs(5, 150)],
  ["graphs of 6 nodes", 12_000, someGraphs(6, 100)],
  ["graphs of 7 nodes", 12_000, someGraphs(7, 24)],
])("%s", (_name, iterations, all) => {
  const graphs = all.map(linked).filter((graph) => smallestBudget(graph, false) < peakOf(graph));

  test.each(["fixed", "free"] as const)(
    "with a link cost what the cheapest schedule costs, order %s",
    async (order) => {
      const given = checkedShare();
      let offloaded = 0;
      for (const graph of graphs) {
        for (const budgetBytes of telltaleBudgets(graph, order === "free")) {
          const cheapest = cheapestCost(graph, budgetBytes, order === "free");
          const found = await rematerialize(graph, { budgetBytes, order, iterations, boundTimeMs: 0 });
          const { peakBytes, cost } = simulateByDefinition(graph, [...found.sequence]);
          expect(found).toMatchObject({ peakBytes, cost, isFeasible: cheapest !== undefined });
          given(cheapest !== undefined && budgetBytes < peakOf(graph));
          if (cheapest === undefined) continue;
          expect(peakBytes).toBeLessThanOrEqual(budgetBytes);
          expect(cost).toBe(cheapest);
          if (found.sequence.some((v) => v < 0)) offloaded++;
        }
      }
      // Otherwise it would be the test of recomputation.
      if (order === "fixed") expect(offloaded).toBeGreaterThan(graphs.length / 4);
    },
  );

  test("with a link no schedule is cheaper or smaller than the bounds", async () => {
    let tight = 0;
    let count = 0;
    for (const graph of graphs) {
      const plainCost = simulateSchedule(graph, plainOf(graph))!.cost;
      for (let budgetBytes = peakOf(graph) - 1; budgetBytes >= smallestBudget(graph, false); budgetBytes -= 2) {
        const cheapest = cheapestCost(graph, budgetBytes, false)!;
        const bound = await recomputationBound(graph, budgetBytes, { timeLimitS: 10 });
        count++;
        expect(bound.isInfeasible).toBe(false);
        expect(plainCost + bound.extraCost).toBeLessThanOrEqual(cheapest + 1e-6);
        if (plainCost + bound.extraCost >= cheapest - 1e-6) tight++;
      }
      for (const isFree of [false, true])
        expect(cheapestCost(graph, workingSet(graph, isFree).bytes - 1, isFree)).toBeUndefined();
    }
    expect(tight / count).toBeGreaterThan(0.5);
  });
});

test("a graph of thousands of nodes begins with a schedule that offloads, and can run", () => {
  const random = new Random(7);
  const nodes = 3000;
  const plain = planningGraph(
    Array.from({ length: nodes }, (_, v) => ({
      name: `n${v}`,
      cost: 1 + random.below(9),
      outputBytes: [10 + random.below(90)],
      inputs: [...new Set(Array.from({ length: Math.min(v, 3) }, () => random.below(v)))].map((u) => [u, 0] as const),
      recomputable: random.next() < 0.8,
    })),
  );
  const graph = withLink(plain, 50);
  const budgetBytes = 0.6 * peakOf(graph);
  const sequence = freeUntilNextUse(graph, budgetBytes);
  const held = simulateSchedule(graph, sequence)!;
  expect(held.peakBytes).toBeLessThanOrEqual(budgetBytes);
  expect(sequence.some((v) => v < 0)).toBe(true);
  expect(held.cost).toBeLessThan(simulateSchedule(graph, freeUntilNextUse(plain, budgetBytes))!.cost);
});

test("a link of no speed changes no plan", async () => {
  await fc.assert(
    fc.asyncProperty(
      randomGraphs(12),
      fc.double({ min: 0.4, max: 1, noNaN: true }),
      fc.nat(),
      async (graph, share, seed) => {
        const options = { budgetBytes: Math.max(1, share * peakOf(graph)), iterations: 800, seed, boundTimeMs: 0 };
        const { sequence } = await rematerialize(graph, options);
        expect((await rematerialize(withLink(graph, 0), options)).sequence).toEqual(sequence);
        expect((await rematerialize(withLink(graph, 1), { ...options, canOffload: false })).sequence).toEqual(sequence);
      },
    ),
    { numRuns: 40 },
  );
});

test("with a link no plan is dearer than without, and none is missing", async () => {
  const given = checkedShare();
  await fc.assert(
    fc.asyncProperty(
      randomGraphs(14),
      fc.double({ min: -0.1, max: 1, noNaN: true }),
      fc.nat(),
      fc.constantFrom(0.01, 1, 10),
      async (graph, share, seed, rate) => {
        const effort = { iterations: 200, seed, boundTimeMs: 0 };
        // From the least that is found without a link to a little more than the plain order holds.
        const { smallest } = await planSchedules(graph, { budgetFraction: 1, ...effort });
        const budgetBytes = smallest.peakBytes + share * (peakOf(graph) - smallest.peakBytes);
        const options = { budgetBytes: Math.max(1, budgetBytes), ...effort };
        const without = await planSchedules(graph, options);
        const found = await planSchedules(withLink(graph, rate), options);
        expect(found.smallest.peakBytes).toBeLessThanOrEqual(without.smallest.peakBytes);
        if (!given(without.point)) return;
        expect(found.point!.schedule.cost).toBeLessThanOrEqual(without.point.schedule.cost);
      },
    ),
    { numRuns: 60 },
  );
});
