import { expect, test } from "vitest";
import { readGraphFile } from "../../src/graph/read-graph-file.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";

const schema = "rematerialization-graph/1";
const node = (name: string, bytes = 4, cost = 1) => ({ name, bytes, cost });

test("a node makes one value, an edge is a node reading it", () => {
  const graph = readGraphFile({
    schema,
    nodes: [node("a", 4), node("b", 0, 0), node("c", 2)],
    edges: [
      [0, 1],
      [0, 2],
      [1, 2],
    ],
  });
  expect(graph.nodeCount).toBe(3);
  expect([...graph.inputs.values]).toEqual([0, 0, 1]);
  expect([...graph.consumers.values]).toEqual([1, 2, 2]);
  expect(graph.nodeName(2)).toBe("c");
  expect(simulateSchedule(graph, [0, 1, 2])).toEqual({ peakBytes: 6, cost: 2, peakStep: 2 });
});

test.each([
  [
    "another schema",
    { schema: "x/2", nodes: [], edges: [] },
    `expected an object with schema '${schema}', found "x/2"`,
  ],
  ["no object", null, `expected an object with schema '${schema}', found null`],
  [
    "negative bytes",
    { schema, nodes: [node("a"), node("b", -1)], edges: [] },
    "node 1 ('b'): bytes must be a number of at least 0; found -1",
  ],
  [
    "bytes that cannot be added",
    { schema, nodes: [node("a", 1e308), node("b", 1e308)], edges: [] },
    "bytes of all nodes must add up to at most 1e+300; found Infinity",
  ],
  [
    "cost that is no number",
    { schema, nodes: [node("a", 1, Number.NaN)], edges: [] },
    "node 0 ('a'): cost must be a number of at least 0; found NaN",
  ],
  ["an unknown node", { schema, nodes: [node("a")], edges: [[0, 3]] }, "edge [0,3]: unknown node. Nodes are 0 to 0"],
  [
    "an edge twice",
    {
      schema,
      nodes: [node("a"), node("b")],
      edges: [
        [0, 1],
        [0, 1],
      ],
    },
    "edge [0, 1] ('a' to 'b') is given twice",
  ],
  [
    "a cycle",
    {
      schema,
      nodes: [node("a"), node("b"), node("c")],
      edges: [
        [0, 1],
        [1, 2],
        [2, 0],
      ],
    },
    "the graph has a cycle: 'b' → 'c' → 'a' → 'b'",
  ],
  ["a node that reads itself", { schema, nodes: [node("a")], edges: [[0, 0]] }, "the graph has a cycle: 'a' → 'a'"],
  [
    "nodes in the wrong order",
    { schema, nodes: [node("a"), node("b")], edges: [[1, 0]] },
    "nodes are not in topological order: 'a' (0) reads 'b' (1)",
  ],
])("%s is refused", (_what, file, message) => {
  expect(() => readGraphFile(file)).toThrow(message);
});
