import { dailyRuns } from "@remat/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PlanningGraph } from "../../src/graph/planning-graph.js";
import { Moves } from "../../src/schedule/moves.js";
import { Random } from "../../src/schedule/random.js";
import { Schedule } from "../../src/schedule/schedule.js";
import { randomGraphs } from "../random-graphs.js";
import { simulateByDefinition } from "../reference-simulator.js";

function plain(graph: PlanningGraph): number[] {
  return Array.from({ length: graph.nodeCount }, (_, v) => v);
}

function memoryOf(schedule: Schedule): number[] {
  const memory: number[] = [];
  for (let x = schedule.next(-1); schedule.nodeOf(x) !== schedule.end; x = schedule.next(x))
    memory.push(schedule.memoryAt(x));
  return memory;
}

function expectConsistent(schedule: Schedule): void {
  const sequence = [...schedule.sequence()];
  const { memory, peakBytes, cost } = simulateByDefinition(schedule.graph, sequence);
  expect(memoryOf(schedule)).toEqual(memory);
  expect(schedule.cost).toBe(cost);
  expect(schedule.length).toBe(sequence.length + 1);
  expect(schedule.overflow > 0).toBe(peakBytes > schedule.budgetBytes);
}

test("memory, cost and overflow stay those of the sequence, whatever is moved and undone", () => {
  fc.assert(
    fc.property(randomGraphs(10), fc.nat(30), fc.nat(), fc.boolean(), (graph, budgetBytes, seed, isFree) => {
      const schedule = new Schedule(graph, budgetBytes, plain(graph));
      expectConsistent(schedule);
      const random = new Random(seed);
      const moves = new Moves(schedule, random, isFree);
      const kinds = [
        () => moves.recompute(),
        () => moves.relocate(),
        () => moves.takeOut(),
        () => moves.shift(),
        () => moves.exchange(),
      ];
      for (let i = 0; i < 40; i++) {
        const before = [...schedule.sequence()];
        schedule.mark();
        kinds[random.below(kinds.length)]();
        expectConsistent(schedule);
        if (random.next() < 0.4) {
          schedule.undo();
          expect([...schedule.sequence()]).toEqual(before);
          expectConsistent(schedule);
        }
        if (!isFree) expect([...new Set(schedule.sequence())]).toEqual(plain(graph));
      }
    }),
    { numRuns: dailyRuns(300) },
  );
});

test("blocks split and empty without a trace", () => {
  fc.assert(
    fc.property(randomGraphs(4), fc.nat(), (graph, seed) => {
      const random = new Random(seed);
      const schedule = new Schedule(graph, 5, plain(graph));
      for (let i = 0; i < 150; i++) {
        const v = random.below(graph.nodeCount);
        if (schedule.copies.count[v] > 1 && random.next() < 0.45) schedule.remove(schedule.copyAt(v, 1));
        else if (schedule.canInsert(v)) {
          const x = schedule.pick(random.next());
          if (schedule.keyOf(x) > schedule.keyOf(schedule.firstCopy(v))) schedule.insert(v, x);
        }
      }
      expectConsistent(schedule);
    }),
    { numRuns: 50 },
  );
});
