import { Category, OpFlag, Phase, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  buildMemoryProfile,
  getFwdBwdInteractions,
  getPeakMemory,
  graphOfTrace,
  NodeKind,
  peakOfProfile,
  type TraceGraph,
} from "../../src/graph/index.js";

/**
 * y = relu(x·w), loss = mean(y) with a cast inside, then dw. Frees are those without remat. Sizes are powers of two, so
 * that sums are readable.
 */
function step(): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensor = (bytes: number, category: number) =>
    b.tensor({ storage: b.allocate(bytes, "cpu", category), dtype: "float32", shape: [bytes / 4] });
  const storageOf = (tensor: number) => tensor; // one tensor a storage, made together, but for the view
  const w = tensor(1024, Category.parameter);
  const x = tensor(512, Category.input);
  const xw = tensor(256, Category.activation);
  b.op({ name: "MatMul", inputs: [x, w], outputs: [xw] });
  const y = tensor(128, Category.activation);
  b.op({ name: "Relu", inputs: [xw], outputs: [y] });
  b.free(storageOf(xw));
  const cast = b.allocate(64, "cpu");
  const loss = tensor(4, Category.activation);
  b.free(cast);
  b.op({ name: "Mean", inputs: [y], outputs: [loss] });
  const one = tensor(4, Category.gradient);
  const dy = tensor(32, Category.gradient);
  b.op({ name: "Tile", phase: Phase.backward, inputs: [one], outputs: [dy] });
  const unused = tensor(16, Category.temporary);
  const dw = tensor(8, Category.gradient);
  b.op({ name: "ReluGrad", phase: Phase.backward, inputs: [dy, y], outputs: [dw, unused] });
  for (const freed of [y, one, dy, unused]) b.free(b.build().tensors.storage[freed]);
  return b.build();
}

const describeNodes = (graph: TraceGraph) =>
  Array.from({ length: graph.nodeCount }, (_, n) => {
    const list = (rows: { start: Int32Array; values: Int32Array }) =>
      [...rows.values.subarray(rows.start[n], rows.start[n + 1])].join(" ");
    const kind = Object.entries(NodeKind).find(([, k]) => k === graph.kinds[n])?.[0];
    return `${graph.nodeName(n)} ${kind}${graph.held[n] ? " held" : ""} reads ${list(graph.reads)} makes ${list(graph.outputs)}`;
  });

test("a trace becomes placeholders, constants, ops and an output", () => {
  expect(describeNodes(graphOfTrace(step()))).toEqual([
    "storage#0 placeholder held reads  makes 0",
    "storage#1 placeholder held reads  makes 1",
    "MatMul#0 compute reads 1 0 makes 2",
    "Relu#1 compute reads 2 makes 3",
    "Mean#2 compute reads 3 4 makes 5 4",
    "storage#6 compute reads  makes 6",
    "Tile#3 compute reads 6 makes 7",
    "ReluGrad#4 compute reads 7 3 8 makes 9 8",
    "output output reads 0 1 5 9 makes ",
  ]);
});

test("its profile follows the last reads, not the frees of the engine", () => {
  const given = 1024 + 512;
  expect([...buildMemoryProfile(graphOfTrace(step()))].map((bytes) => bytes - given)).toEqual([
    0,
    ...[256, 256],
    ...[256 + 128, 128],
    ...[128 + 64 + 4, 128 + 4],
    ...[128 + 4 + 4, 128 + 4 + 4],
    ...[128 + 4 + 4 + 32, 128 + 4 + 32],
    ...[128 + 4 + 32 + 16 + 8, 4 + 8],
  ]);
});

test("graphs of the phases share storages and meet at what is handed out", () => {
  const trace = step();
  const forward = graphOfTrace(trace, { phases: [Phase.forward] });
  const backward = graphOfTrace(trace, { phases: [Phase.backward] });
  expect(describeNodes(backward)).toEqual([
    "storage#3 placeholder reads  makes 3",
    "storage#6 compute reads  makes 6",
    "Tile#3 compute reads 6 makes 7",
    "ReluGrad#4 compute reads 7 3 8 makes 9 8",
    "output output reads 9 makes ",
  ]);
  // Weights, input and loss wait through the backward pass; the activation that it takes may go after its last use.
  expect(getFwdBwdInteractions(forward, backward)).toEqual({
    backwardBaselineBytes: 1024 + 512 + 4,
    doNotDelete: [],
  });
  expect(getPeakMemory(forward, backward)).toBe(peakOfProfile(buildMemoryProfile(graphOfTrace(trace))));
});

test("memory of the caller can be named", () => {
  const profile = buildMemoryProfile(graphOfTrace(step(), { isResult: () => false }));
  expect(profile[profile.length - 1]).toBe(1024 + 512);
});

test("sizes are as allocated, and the largest of a storage that is resized", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
  const s = b.allocate(10, "cuda:0");
  const t = b.tensor({ storage: s, dtype: "float32", shape: [2] });
  b.resize(s, 700);
  b.op({ name: "aten.relu_.default", inputs: [t], outputs: [t], flags: OpFlag.inPlace });
  b.resize(s, 0);
  expect([...buildMemoryProfile(graphOfTrace(b.build()))]).toEqual([1024, 1024, 1024]);
});

test("an empty trace has only an output", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  b.allocate(40);
  expect([...buildMemoryProfile(graphOfTrace(b.build()))]).toEqual([40]);
});

interface OpSpec {
  readonly inputs: readonly number[];
  readonly bytes: readonly number[];
  readonly view: boolean;
  readonly constant: boolean;
}

/** A trace of random ops, forward then backward, whose storages are freed after their last use but for some. */
function randomTrace(specs: readonly OpSpec[], keep: readonly number[]): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const storageOf: number[] = [];
  const tensor = (storage: number) => {
    storageOf.push(storage);
    return b.tensor({ storage, dtype: "float32", shape: [1] });
  };
  tensor(b.allocate(5, "cpu"));
  specs.forEach((spec, i) => {
    if (spec.constant) tensor(b.allocate(3, "cpu"));
    const inputs = spec.inputs.map((input) => input % storageOf.length);
    const outputs = spec.bytes.map((bytes) => tensor(b.allocate(bytes, "cpu")));
    if (spec.view && inputs.length > 0) outputs.push(tensor(storageOf[inputs[0]]));
    b.op({ name: `op${i}`, phase: i * 2 < specs.length ? Phase.forward : Phase.backward, inputs, outputs });
  });
  for (let s = 1; s < b.storageCount; s++) if (!keep.includes(s)) b.free(s);
  return b.build();
}

test("the peaks of the phases make the peak of the step", () => {
  const spec = fc.record({
    inputs: fc.array(fc.nat(40), { maxLength: 3 }),
    bytes: fc.array(fc.nat(9), { maxLength: 2 }),
    view: fc.boolean(),
    constant: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(spec, { maxLength: 14 }), fc.array(fc.nat(20), { maxLength: 4 }), (specs, keep) => {
      const trace = randomTrace(specs, keep);
      const whole = graphOfTrace(trace);
      const profile = buildMemoryProfile(whole);
      const forward = graphOfTrace(trace, { phases: [Phase.forward] });
      const backward = graphOfTrace(trace, { phases: [Phase.backward] });
      expect(getPeakMemory(forward, backward)).toBe(peakOfProfile(profile));
    }),
    { numRuns: 300 },
  );
});
