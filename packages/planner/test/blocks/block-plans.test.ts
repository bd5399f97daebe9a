import { holdSequence } from "@remat/memory/sequence";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { goldenFiles, readGolden } from "@remat/testkit";
import { row } from "@remat/trace";
import { expect, test } from "vitest";
import { BlockPlans } from "../../src/blocks/block-plans.js";
import { forwardSegments, joinSegments } from "../../src/blocks/forward-segments.js";
import { type PlanningGraph, planningGraph } from "../../src/graph/planning-graph.js";
import { planningGraphOfTrace } from "../../src/graph/planning-graph-of-trace.js";
import { rematerialize } from "../../src/rematerialize.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";

/**
 * A training step of blocks around which a sum goes (as in a residual network): each of `inner` nodes that the backward pass reads.
 * `sizes` has a block's bytes per value.
 */
function residualStep(sizes: readonly number[], inner = 7): PlanningGraph {
  const nodes: Parameters<typeof planningGraph>[0][number][] = [
    { name: "x", cost: 0, outputBytes: [sizes[0]], inputs: [], recomputable: false },
    { name: "stem", cost: 1, outputBytes: [sizes[0]], inputs: [[0, 0]] },
  ];
  const blocks: number[][] = [];
  let stream = 1;
  for (const bytes of sizes) {
    const block: number[] = [];
    for (let k = 0; k < inner; k++) {
      const inputs = k === 0 ? [[stream, 0] as const] : [[nodes.length - 1, 0] as const];
      block.push(nodes.length);
      nodes.push({ name: "f", cost: 1 + ((k * 3) % 5), outputBytes: [bytes + (k % 3)], inputs });
    }
    nodes.push({
      name: "sum",
      cost: 1,
      outputBytes: [bytes],
      inputs: [
        [stream, 0],
        [nodes.length - 1, 0],
      ],
    });
    stream = nodes.length - 1;
    blocks.push(block);
  }
  for (const block of blocks.reverse())
    for (const read of block.reverse())
      nodes.push({
        name: "b",
        cost: 2,
        outputBytes: [4],
        inputs: [
          [nodes.length - 1, 0],
          [read, 0],
        ],
        recomputable: false,
      });
  return planningGraph(nodes, 10);
}

const plainOf = (graph: PlanningGraph) => Int32Array.from({ length: graph.nodeCount }, (_, v) => v);
const twentyBlocks = residualStep(Array.from({ length: 20 }, () => 40));

test("a step is cut between its blocks, and its backward pass where it comes back to them", () => {
  const segments = forwardSegments(twentyBlocks);
  expect(segments.map(({ from, to }) => [from, to])).toEqual(
    Array.from({ length: 20 }, (_, i) => [i === 0 ? 1 : 2 + 8 * i, 10 + 8 * i]),
  );
  expect(segments.map(({ backwardFrom, backwardTo }) => [backwardFrom, backwardTo])).toEqual(
    Array.from({ length: 20 }, (_, i) => [162 + 7 * (19 - i), 169 + 7 * (19 - i)]),
  );
  expect(joinSegments(segments, 8).map(({ from, to }) => [from, to])).toEqual([
    [1, 34],
    [34, 98],
    [98, 162],
  ]);
});

test("a graph without a backward pass of its own, and one of a few nodes, have no blocks", () => {
  const chain = planningGraph(
    Array.from({ length: 50 }, (_, v) => ({
      name: "f",
      cost: 1,
      outputBytes: [1],
      inputs: v === 0 ? [] : [[v - 1, 0] as const],
    })),
  );
  expect(forwardSegments(chain)).toEqual([]);
  expect(forwardSegments(residualStep([40], 3))).toEqual([]);
  expect(forwardSegments(planningGraph([]))).toEqual([]);
});

test("blocks that repeat are planned once, and of those that differ in sizes only a few", async () => {
  const same = new BlockPlans(twentyBlocks, 0);
  await same.prepare(300_000);
  // The first and the last differ from the others.
  expect(same.structure[0].segments).toBe(20);
  expect(same.structure[0].planned).toBeLessThanOrEqual(4);
  const growing = new BlockPlans(residualStep(Array.from({ length: 20 }, (_, i) => 40 + i)), 0);
  await growing.prepare(300_000);
  expect(growing.structure[0].segments).toBe(20);
  expect(growing.structure[0].planned).toBeLessThanOrEqual(9);
});

test("put together, they keep to a budget and cost hardly more than a long search finds", async () => {
  const plain = simulateSchedule(twentyBlocks, plainOf(twentyBlocks))!;
  const blocks = new BlockPlans(twentyBlocks, 0);
  await blocks.prepare(300_000);
  for (const share of [0.9, 0.7, 0.5]) {
    const budgetBytes = share * plain.peakBytes;
    const starts = blocks.startsFor(budgetBytes).map((sequence) => simulateSchedule(twentyBlocks, sequence)!);
    const within = starts.filter(({ peakBytes }) => peakBytes <= budgetBytes).map(({ cost }) => cost);
    expect(within.length).toBeGreaterThan(0);
    const found = await rematerialize(twentyBlocks, { budgetBytes, iterations: 100_000, boundTimeMs: 0 });
    expect(Math.min(...within)).toBeLessThanOrEqual(1.02 * found.cost);
  }
});

test("every schedule put together can run, with every first run in its order", async () => {
  for (const graph of [twentyBlocks, residualStep([40, 20, 60, 40, 40, 10, 90, 40]), layersOfTransformer()]) {
    const plain = simulateSchedule(graph, plainOf(graph))!;
    const inOrder = [...plainOf(graph)];
    const blocks = new BlockPlans(graph, 1);
    await blocks.prepare(600 * graph.nodeCount);
    expect(blocks.structure.length).toBeGreaterThan(0);
    for (const share of [1, 0.8, 0.6, 0.4, 0.2, 0.01])
      for (const sequence of blocks.startsFor(share * plain.peakBytes)) {
        const { peakBytes, cost } = simulateSchedule(graph, sequence)!;
        expect(peakBytes).toBeLessThanOrEqual(plain.peakBytes);
        expect(cost).toBeGreaterThanOrEqual(plain.cost);
        const seen = new Set(sequence);
        expect([...seen]).toEqual(inOrder);
        expect(holdSequence(graph, sequence)!.heldBytes.reduce((a, b) => Math.max(a, b), 0)).toBe(peakBytes);
        expect(sequence.filter((v, i) => graph.recomputable[v] === 0 && sequence.indexOf(v) < i)).toHaveLength(0);
      }
  }
});

test("the same effort and seed give the same schedules", async () => {
  const [one, same] = await Promise.all(
    [0, 1].map(async () => {
      const blocks = new BlockPlans(twentyBlocks, 5);
      await blocks.prepare(200_000);
      return blocks.startsFor(900);
    }),
  );
  expect(same).toEqual(one);
});

test("without effort, and once aborted, there are none", async () => {
  const blocks = new BlockPlans(twentyBlocks, 0);
  await blocks.prepare(100);
  expect(blocks.startsFor(900)).toEqual([]);
  const aborted = new BlockPlans(twentyBlocks, 0);
  await aborted.prepare(300_000, AbortSignal.abort());
  expect(aborted.startsFor(900)).toEqual([]);
});

test("the layers of a transformer that PyTorch recorded are its blocks", () => {
  const graph = layersOfTransformer();
  const segments = forwardSegments(graph);
  expect(segments.length).toBeGreaterThanOrEqual(4);
  for (const [i, { from, to }] of segments.entries()) {
    expect(to - from).toBeGreaterThan(0);
    if (i > 0) expect(from).toBe(segments[i - 1].to);
  }
  expect(row(graph.outputs, segments[0].from).length).toBeGreaterThan(0);
});

function layersOfTransformer(): PlanningGraph {
  const golden = goldenFiles().find(({ name }) => name === "mem_02_transformer_adam")!;
  const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
  return planningGraphOfTrace(trace);
}
