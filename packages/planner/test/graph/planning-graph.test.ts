import { expect, test } from "vitest";
import { type PlanningNode, planningGraph } from "../../src/graph/planning-graph.js";
import { rematerialize } from "../../src/rematerialize.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { simulateByDefinition } from "../reference-simulator.js";

const node = (name: string, more: Partial<PlanningNode> = {}): PlanningNode => ({
  name,
  cost: 1,
  outputBytes: [4],
  inputs: [],
  ...more,
});

test("outputs of one node live as long as each is read", () => {
  const graph = planningGraph([
    node("split", { outputBytes: [8, 16, 32] }),
    node("first", { outputBytes: [1], inputs: [[0, 1]] }),
    node("second", {
      outputBytes: [2],
      inputs: [
        [0, 0],
        [1, 0],
      ],
      results: [0],
    }),
  ]);
  // 56 while `split` runs; its third output goes at once, its second after `first`.
  expect(simulateSchedule(graph, [0, 1, 2])).toEqual({ peakBytes: 56, cost: 3, peakStep: 0 });
  expect(simulateByDefinition(graph, [0, 1, 2]).memory).toEqual([56, 25, 11]);
});

test("one output of a node is freed and recomputed, while another stays", async () => {
  const graph = planningGraph([
    node("split", { cost: 1, outputBytes: [10, 2] }),
    node("wide", { cost: 5, outputBytes: [12], inputs: [[0, 1]] }),
    node("narrow", { cost: 5, outputBytes: [1], inputs: [[1, 0]] }),
    node("last", {
      cost: 5,
      outputBytes: [1],
      inputs: [
        [0, 0],
        [2, 0],
      ],
    }),
  ]);
  const found = await rematerialize(graph, { budgetBytes: 14, iterations: 2000 });
  expect([...found.sequence]).toEqual([0, 1, 2, 0, 3]);
  expect(found).toMatchObject({ isFeasible: true, peakBytes: 14, cost: 17, gap: 0 });
});

test("inputs named twice count once", () => {
  const graph = planningGraph([
    node("a"),
    node("b", {
      inputs: [
        [0, 0],
        [0, 0],
      ],
    }),
  ]);
  expect([...graph.inputs.values]).toEqual([0]);
  expect([...graph.consumers.values]).toEqual([1]);
});

test("a graph without nodes has a schedule without steps", async () => {
  expect(await rematerialize(planningGraph([], 3), { budgetBytes: 3 })).toMatchObject({
    isFeasible: true,
    peakBytes: 3,
    cost: 0,
    overhead: 0,
    gap: 0,
  });
});

test.each<[string, PlanningNode[], string]>([
  [
    "negative bytes",
    [node("a", { outputBytes: [3, -1] })],
    "node 'a' (0): bytes must be a number of at least 0; found -1.",
  ],
  [
    "a cost that is no number",
    [node("a"), node("b", { cost: Number.NaN })],
    "node 'b' (1): cost must be a number of at least 0; found NaN.",
  ],
  [
    "a cost as text",
    [node("a", { cost: "5" as unknown as number })],
    `node 'a' (0): cost must be a number of at least 0; found "5".`,
  ],
  [
    "workspace without end",
    [node("a", { workspaceBytes: Number.POSITIVE_INFINITY })],
    "node 'a' (0): workspace bytes must be a number of at least 0; found Infinity.",
  ],
  ["an unknown node", [node("a"), node("b", { inputs: [[7, 0]] })], "node 'b' (1) reads output 0 of node 7"],
  ["a node that reads itself", [node("a", { inputs: [[0, 0]] })], "node 'a' (0) reads output 0 of node 0"],
  ["an output that is not made", [node("a"), node("b", { inputs: [[0, 1]] })], "node 'b' (1) reads output 1 of node 0"],
  ["half a node", [node("a"), node("b", { inputs: [[0.5, 0]] })], "node 'b' (1) reads output 0 of node 0.5"],
  ["a result that is not made", [node("a", { results: [1] })], "node 'a' (0) names output 1 as a result"],
])("%s is refused", (_what, nodes, message) => {
  expect(() => planningGraph(nodes)).toThrow(message);
});

test("bytes held all the time that are no number are refused", () => {
  expect(() => planningGraph([node("a")], Number.NaN)).toThrow(
    "the graph: base bytes must be a number of at least 0; found NaN.",
  );
});
