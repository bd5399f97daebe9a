import {
  Category,
  gradientsEndMark,
  gradientsStartMark,
  OpFlag,
  Phase,
  row,
  type Trace,
  TraceBuilder,
} from "@remat/trace";
import { expect, test } from "vitest";
import { engineLifetimes } from "../../src/sequence/engine-lifetimes.js";
import { holdSequence, sequenceGraphOfTrace, valuesFreedAfter } from "../../src/sequence/index.js";

/** A step with one pass, with or without the marks around it, as an engine records it. */
function step({ marks }: { marks: boolean }): { trace: Trace; names: Record<string, number> } {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  const names: Record<string, number> = {};
  const make = (name: string, bytes: number, category: number = Category.activation): number => {
    names[name] = b.allocate(bytes, "cpu", category);
    return b.tensor({ storage: names[name], dtype: "float32", shape: [bytes / 4] });
  };
  const op = (
    name: string,
    phase: number,
    inputs: number[],
    outputs: number[],
    rest: { forwardOp?: number; flags?: number } = {},
  ) => b.op({ name, phase, inputs, outputs, runtimeMs: 1, ...rest });
  const free = (...gone: string[]) => {
    for (const name of gone) b.free(names[name]);
  };
  const weight = make("weight", 400, Category.parameter);
  // Made by the user before the pass.
  const batch = make("batch", 80);
  op("Concat", Phase.forward, [], [batch]);
  if (marks) b.mark(gradientsStartMark);
  const scale = make("scale", 4, Category.other);
  const x = make("x", 80);
  op("Multiply", Phase.forward, [batch, scale], [x]);
  // Met only when it is read.
  const found = make("found", 40, Category.buffer);
  const y = make("y", 40);
  op("MatMul", Phase.forward, [x, weight, found], [y]);
  const sample = make("sample", 8);
  op("Multinomial", Phase.forward, [y], [sample], { flags: OpFlag.random });
  const loss = make("loss", 4);
  op("Sum", Phase.forward, [y], [loss]);
  const ones = make("ones", 4, Category.other);
  const dy = make("dy", 40, Category.temporary);
  const first = make("first", 24);
  free("first");
  const second = make("second", 16);
  free("second");
  op("Fill", Phase.backward, [ones], [dy], { forwardOp: 4 });
  expect([first, second].length).toBe(2);
  const gathered = make("gathered", 8, Category.temporary);
  op("Gather", Phase.backward, [dy, sample], [gathered], { forwardOp: 2 });
  const dw = make("dw", 400, Category.temporary);
  op("MatMul", Phase.backward, [x, dy], [dw], { forwardOp: 2 });
  free("scale", "x", "y", "sample", "ones", "dy", "gathered");
  if (marks) b.mark(gradientsEndMark);
  const update = make("update", 400, Category.temporary);
  op("Multiply", Phase.optimizer, [dw], [update]);
  op("Add", Phase.optimizer, [update, weight], [make("updated", 400, Category.parameter)]);
  free("update", "dw", "loss", "batch");
  return { trace: b.build(), names };
}

test("inside a pass outputs of ops go as planned; all else goes when the engine frees it", () => {
  const { trace, names } = step({ marks: true });
  const { isInPass, heldUntil, isSurvivor, isFound, scratchBytes } = engineLifetimes(trace, trace.storages.bytes);
  expect([...isInPass]).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
  const told = Object.fromEntries(
    Object.entries(names).map(([name, s]) => [name, [heldUntil[s], isSurvivor[s] === 1, isFound[s] === 1]]),
  );
  expect(told).toEqual({
    weight: [-1, false, true],
    // Made outside: the caller frees it, after op 9.
    batch: [9, true, false],
    // The forward pass holds what JavaScript made in it to its end, op 4.
    scale: [4, false, false],
    x: [-1, false, false],
    found: [-1, true, true],
    y: [-1, false, false],
    // Random: held by the forward pass, then with the node (ops 6 and 7) that reads it.
    sample: [7, false, false],
    // Outlive the pass.
    loss: [9, true, false],
    ones: [5, false, false],
    dy: [-1, false, false],
    // Within op 5, and so gone before it.
    first: [4, false, false],
    second: [4, false, false],
    gathered: [-1, false, false],
    dw: [9, true, false],
    update: [9, true, false],
    updated: [-1, true, false],
  });
  // The two are never there at once.
  expect([...scratchBytes]).toEqual([0, 0, 0, 0, 0, 24, 0, 0, 0, 0]);
});

test("a trace without marks is as it was", () => {
  const { trace } = step({ marks: false });
  const { isInPass, heldUntil, isSurvivor, isFound } = engineLifetimes(trace, trace.storages.bytes);
  expect(isInPass.every((flag) => flag === 1)).toBe(true);
  expect([...heldUntil, ...isSurvivor, ...isFound].every((value) => value <= 0)).toBe(true);
});

test("tensors made outside of the pass, or outliving it, are never recomputed; earlier ones always count", () => {
  const { trace, names } = step({ marks: true });
  const graph = sequenceGraphOfTrace(trace);
  const again = Array.from({ length: graph.nodeCount }, (_, v) => v).filter((v) => graph.repeatable[v] === 1);
  expect(again.map((v) => graph.opOfNode[v])).toEqual([1, 2]);
  expect(graph.baseBytes).toBe(400 + 40);
  expect([...graph.storageOfValue]).not.toContain(names["found"]);
});

test("a tensor that the engine holds during an op that does not read it is not needed when that op is recomputed", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  const storages: number[] = [];
  const make = (category: number = Category.activation): number => {
    storages.push(b.allocate(40, "cpu", category));
    return b.tensor({ storage: storages.at(-1)!, dtype: "float32", shape: [10] });
  };
  const op = (name: string, phase: number, inputs: number[], outputs: number[], flags = 0) =>
    b.op({ name, phase, inputs, outputs, flags, runtimeMs: 1 });
  const x = make(Category.parameter);
  b.mark(gradientsStartMark);
  const noise = make();
  op("RandomUniform", Phase.forward, [], [noise], OpFlag.random);
  const mask = make();
  op("Floor", Phase.forward, [noise], [mask]);
  const dropped = make();
  op("Multiply", Phase.forward, [x, mask], [dropped]);
  // The end of a tidy around the three.
  b.free(storages[1]);
  const y = make();
  op("Tanh", Phase.forward, [dropped], [y]);
  const dx = make(Category.temporary);
  op("TanhGrad", Phase.backward, [y, dropped], [dx]);
  for (const storage of storages.slice(2, 5)) b.free(storage);
  b.mark(gradientsEndMark);
  const graph = sequenceGraphOfTrace(b.build());
  const opsAndReads = Array.from(graph.opOfNode, (made, node) => [
    made,
    Array.from(row(graph.inputs, node), (value) => graph.storageOfValue[value]),
  ]);
  expect(opsAndReads).toEqual([
    [0, []],
    [1, [1]],
    [2, [2]],
    // Its first run is over.
    [-1, [1]],
    [3, [3]],
    [4, [4, 3]],
  ]);
  // Held to there: the first run of the product, and what is recomputed before the user's code goes on.
  const plain = Int32Array.from({ length: graph.nodeCount }, (_, node) => node);
  expect(valuesFreedAfter(graph, plain).map((values) => values.map((value) => graph.storageOfValue[value]))).toEqual([
    [],
    [],
    [2],
    [1],
    [],
    [3, 4],
  ]);
  // When the product is recomputed, noise that cannot be recomputed is not kept for it.
  const again = Int32Array.of(0, 1, 2, 3, 4, 2, 5);
  expect(valuesFreedAfter(graph, again)[3].map((value) => graph.storageOfValue[value])).toEqual([1]);
  expect(holdSequence(graph, again)?.peakBytes).toBe(160);
});
