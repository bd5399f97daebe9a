import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { expect, test } from "vitest";
import { planningGraph } from "../../src/graph/planning-graph.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { randomGraphs } from "../random-graphs.js";
import { simulateByDefinition } from "../reference-simulator.js";

test("peak and cost are those of the definition, for any sequence that can run", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(randomGraphs(8), fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 6 }), (graph, repeats) => {
      const sequence = Array.from({ length: graph.nodeCount }, (_, v) => v);
      // A node may be recomputed anywhere after its first run, since all it reads has been made by then.
      for (const [node, place] of repeats) {
        const v = node % graph.nodeCount;
        const first = sequence.indexOf(v);
        sequence.splice(first + 1 + (place % (sequence.length - first)), 0, v);
      }
      const { memory, peakBytes, cost } = simulateByDefinition(graph, sequence);
      const simulated = simulateSchedule(graph, sequence);
      expect(simulated).toMatchObject({ peakBytes, cost });
      if (given(peakBytes > graph.baseBytes)) expect(simulated?.peakStep).toBe(memory.indexOf(peakBytes));
    }),
    { numRuns: 500 },
  );
});

const chain = planningGraph([
  { name: "a", cost: 1, outputBytes: [4], inputs: [] },
  { name: "b", cost: 2, outputBytes: [8], inputs: [[0, 0]] },
]);

test("a sequence that reads what is not made, or leaves a node out, is no schedule", () => {
  expect(simulateSchedule(chain, [0, 1])).toEqual({ peakBytes: 12, cost: 3, peakStep: 1 });
  expect(simulateSchedule(chain, [1, 0])).toBeUndefined();
  expect(simulateSchedule(chain, [0])).toBeUndefined();
});
