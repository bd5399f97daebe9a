import { Category, EventKind, Phase, type Trace, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";
import { heldPeak } from "../../src/index.js";
import { holdSequence, sequenceGraphOfTrace } from "../../src/sequence/index.js";
import { separateLives } from "../../src/sequence/separate-lives.js";

const device = "cuda:0";

/** Two layers whose weights are gathered for their forward and backward pass and resharded in between, as FSDP's are. */
function sharded(): Trace {
  const b = new TraceBuilder({ framework: "pytorch", device, mode: "fake", allocationUnitBytes: 1, model: "m" });
  const make = (bytes: number, category: number) => {
    const storage = b.allocate(bytes, device, category);
    return { storage, tensor: b.tensor({ storage, dtype: "uint8", shape: [bytes] }) };
  };
  const weights = [make(0, Category.temporary), make(0, Category.temporary)];
  const op = (name: string, phase: number, inputs: number[], outputs: number[]) =>
    b.op({ name, phase, inputs, outputs, runtimeMs: 1 });
  const gather = (layer: number, phase: number) => {
    b.resize(weights[layer].storage, 100);
    b.categorize(weights[layer].storage, Category.unshardedParameter);
    op("copy_", phase, [], [weights[layer].tensor]);
  };
  const reshard = (layer: number) => b.resize(weights[layer].storage, 0);
  const x = make(10, Category.input);
  const activations = [x];
  for (const layer of [0, 1]) {
    gather(layer, Phase.forward);
    const y = make(10, Category.activation);
    op("mm", Phase.forward, [activations[layer].tensor, weights[layer].tensor], [y.tensor]);
    activations.push(y);
    reshard(layer);
  }
  let grad = make(10, Category.temporary);
  op("ones_like", Phase.backward, [activations[2].tensor], [grad.tensor]);
  for (const layer of [1, 0]) {
    gather(layer, Phase.backward);
    const next = make(10, Category.temporary);
    op("mm", Phase.backward, [grad.tensor, weights[layer].tensor, activations[layer].tensor], [next.tensor]);
    reshard(layer);
    b.free(grad.storage);
    b.free(activations[layer + 1].storage);
    grad = next;
  }
  b.free(grad.storage);
  return b.build();
}

test("a storage that is resized to nothing in between holds nothing there", () => {
  const trace = sharded();
  const graph = sequenceGraphOfTrace(trace);
  const plain = Int32Array.from({ length: graph.nodeCount }, (_, node) => node);
  // One weight, the input, both activations and two gradients in the middle of the backward pass; both weights would be 240.
  expect(heldPeak(trace).peakBytes).toBe(150);
  expect(holdSequence(graph, plain)?.peakBytes).toBeLessThanOrEqual(150);
});

test("no op makes a life that a resize began: nothing is recomputed to gather a weight", () => {
  const graph = sequenceGraphOfTrace(sharded());
  for (let value = 0; value < graph.valueCount; value++) {
    if (graph.bytes[value] !== 100) continue;
    const maker = Array.from({ length: graph.nodeCount }, (_, node) => node).find((node) =>
      graph.outputs.values.subarray(graph.outputs.start[node], graph.outputs.start[node + 1]).includes(value),
    );
    expect(maker === undefined ? -2 : graph.opOfNode[maker]).toBe(-1);
  }
});

test("the lives are held when the storage is, by category", () => {
  const trace = sharded();
  const { trace: split, isResumed } = separateLives(trace);
  expect(heldPeak(split).peakBytes).toBe(heldPeak(trace).peakBytes);
  expect(heldPeak(split).bytesByCategory).toEqual(heldPeak(trace).bytesByCategory);
  expect(split.events.kind.includes(EventKind.resize)).toBe(false);
  expect(isResumed.filter((one) => one === 1).length).toBe(8);
});

test("a trace in which nothing is resized stays as it is", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  b.allocate(4, "cpu", Category.input);
  const trace = b.build();
  expect(separateLives(trace).trace).toBe(trace);
});

test("a resize between sizes that are not nothing stays one", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const storage = b.allocate(4, "cpu", Category.input);
  b.resize(storage, 12);
  b.resize(storage, 0);
  b.resize(storage, 8);
  const { trace } = separateLives(b.build());
  expect(trace.storages.count).toBe(3);
  expect(heldPeak(trace).peakBytes).toBe(12);
});
