import { describe, expect, it } from "vitest";
import { readFxGraphs } from "../src/index.js";

const forward = [
  { n: "primals_1", op: "placeholder", in: [], out: [0], static: true },
  { n: "mm", op: "call_function", in: ["primals_1"], out: [1], flops: 512, dtype: "float32" },
  { n: "view", op: "call_function", in: ["mm"], out: [1], bytes: 8, fusible: true },
  { n: "output", op: "output", in: ["view"], out: [] },
];
const pair = { forward, backward: null };
const file = {
  schema: "fx-graphs/2",
  name: "net",
  results: [1],
  storages: [
    [64, "cuda:0"],
    [16, "cuda:0"],
  ],
  partitions: [
    { budget: 0.5, graphs: [pair] },
    { budget: 1, graphs: [pair] },
  ],
};
const withNode = (change: object) => ({
  ...file,
  partitions: [{ budget: 1, graphs: [{ ...pair, forward: [{ ...forward[1], ...change }] }] }],
});

describe("readFxGraphs", () => {
  it("reads what kernels cost, what stays, and what the model returns, by falling budget", () => {
    const { partitions, graphs, results, ...rest } = readFxGraphs(file);
    expect(rest).toEqual({
      name: "net",
      storages: [
        { bytes: 64, device: "cuda:0" },
        { bytes: 16, device: "cuda:0" },
      ],
    });
    expect(results).toEqual([1]);
    expect(partitions.map(({ budget }) => budget)).toEqual([1, 0.5]);
    expect(graphs).toEqual(partitions[0].graphs);
    expect(graphs).toEqual([
      {
        forward: [
          { name: "primals_1", kind: "placeholder", inputs: [], outputs: [0], isStatic: true },
          { name: "mm", kind: "compute", inputs: ["primals_1"], outputs: [1], flops: 512, dtype: "float32" },
          { name: "view", kind: "compute", inputs: ["mm"], outputs: [1], bytes: 8, isFusible: true },
          { name: "output", kind: "output", inputs: ["view"], outputs: [] },
        ],
        backward: undefined,
      },
    ]);
  });

  it("reads files that tell no budget", () => {
    const { partitions, results } = readFxGraphs({
      ...file,
      schema: "fx-graphs/1",
      results: undefined,
      graphs: [pair],
    });
    expect(partitions.map(({ budget }) => budget)).toEqual([undefined]);
    expect(results).toBeUndefined();
  });

  it.each([
    ["partitions", { ...file, partitions: undefined }, "partitions: expected a list"],
    ["a partition", { ...file, partitions: [] }, "it has no partition"],
    [
      "a budget",
      { ...file, partitions: [{ graphs: [pair] }] },
      "partition 0: expected a 'budget' from 0 to 1, found none",
    ],
    ["a budget up to 1", { ...file, partitions: [{ budget: 70, graphs: [pair] }] }, "found 70"],
    ["graphs", { ...file, partitions: [{ budget: 1, graphs: [] }] }, "graphs of partition 0: there is none"],
    [
      "as many graphs in each",
      { ...file, partitions: [file.partitions[0], { budget: 1, graphs: [pair, pair] }] },
      "partition 1: expected 1 graphs",
    ],
    ["FLOPs from 0 up", withNode({ flops: -1 }), "node 0 of forward graph 0 of partition 0: expected 'flops'"],
    ["bytes that are a number", withNode({ bytes: "8" }), "expected 'bytes' of at least 0"],
    ["a dtype by name", withNode({ dtype: 32 }), "expected a name as 'dtype'"],
    ["results that are there", { ...file, results: [2] }, "item 0 of results: expected one of 2 storages, found 2"],
    ["gradients that are there", { ...file, added: [-1] }, "item 0 of added: expected one of 2 storages, found -1"],
  ])("expects %s", (_, damaged, said) => {
    expect(() => readFxGraphs(damaged)).toThrow(said);
  });
});
