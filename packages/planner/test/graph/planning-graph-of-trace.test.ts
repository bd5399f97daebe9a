import { StepFacts } from "@remat/memory/sequence";
import { Category, OpFlag, Phase, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";
import { planningGraphOfTrace, type TracePlanningGraph } from "../../src/graph/planning-graph-of-trace.js";

/** w: weight, x: input that is freed; a = matmul(x, w), relu_ in place, b = view of a, c = mul(b, noise) with noise from JavaScript. */
function trace(options: { readBetween?: boolean } = {}) {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  const tensor = (storage: number) => b.tensor({ storage, dtype: "float32", shape: [1] });
  const made = (bytes: number) => {
    const storage = b.allocate(bytes, "cpu", Category.activation);
    return { storage, tensor: tensor(storage) };
  };
  const w = tensor(b.allocate(100, "cpu", Category.parameter));
  const x = made(50);
  const a = made(40);
  b.op({ name: "MatMul", inputs: [x.tensor, w], outputs: [a.tensor], runtimeMs: 8 });
  let between: ReturnType<typeof made> | undefined;
  if (options.readBetween) {
    between = made(7);
    b.op({ name: "Max", inputs: [a.tensor], outputs: [between.tensor], runtimeMs: 1 });
  }
  b.op({ name: "relu_", inputs: [a.tensor], outputs: [a.tensor], flags: OpFlag.inPlace, runtimeMs: 1 });
  const view = tensor(a.storage);
  b.op({ name: "Reshape", inputs: [a.tensor], outputs: [view], flags: OpFlag.view });
  const noise = made(30);
  const inside = b.allocate(11, "cpu");
  const c = made(20);
  b.free(inside);
  b.op({ name: "Multiply", inputs: [view, noise.tensor], outputs: [c.tensor], runtimeMs: 2 });
  const sample = made(5);
  b.op({ name: "Multinomial", inputs: [c.tensor], outputs: [sample.tensor], flags: OpFlag.random, runtimeMs: 1 });
  const dw = made(100);
  b.op({ name: "MatMul", phase: Phase.backward, inputs: [c.tensor, x.tensor], outputs: [dw.tensor], runtimeMs: 8 });
  for (const gone of [a, noise, c, sample, ...(between ? [between] : [])]) b.free(gone.storage);
  b.free(x.storage);
  return b.build();
}

function describeNodes(graph: TracePlanningGraph): string[] {
  const list = (rows: { start: Int32Array; values: Int32Array }, v: number, name: (value: number) => string) =>
    [...rows.values.subarray(rows.start[v], rows.start[v + 1])].map(name).join(" ");
  return Array.from({ length: graph.nodeCount }, (_, v) => {
    const reads = list(graph.inputs, v, (value) => `s${graph.storageOfValue[value]}`);
    const makes = list(
      graph.outputs,
      v,
      (value) => `s${graph.storageOfValue[value]}${graph.result[value] ? " (result)" : ""}`,
    );
    const again = graph.recomputable[v] ? `, again runs ${list(graph.replayOps, v, String)}` : "";
    const inside = graph.workspaceBytes[v] ? `, ${graph.workspaceBytes[v]} bytes inside` : "";
    return `${graph.nodeName(v)}: reads ${reads || "-"}, makes ${makes || "-"}, ${graph.cost[v]} ms${inside}${again}`;
  });
}

test("ops become nodes, storages values; what an in-place op finishes is recomputed with it", () => {
  const graph = planningGraphOfTrace(trace());
  expect(describeNodes(graph)).toEqual([
    "storage#1: reads -, makes s1, 0 ms",
    "MatMul#0: reads s1, makes s2, 9 ms, again runs 0 1",
    "relu_#1: reads s2, makes -, 0 ms",
    "Reshape#2: reads s2, makes -, 0 ms, again runs 2",
    "storage#3: reads -, makes s3, 0 ms",
    "Multiply#3: reads s2 s3, makes s5, 2 ms, 11 bytes inside, again runs 3",
    "Multinomial#4: reads s5, makes s6, 1 ms",
    // The trace frees x, the caller's, after the last op.
    "MatMul#5: reads s1 s5, makes s7 (result), 8 ms",
  ]);
  expect(graph.baseBytes).toBe(100);
});

test("a storage that is read before it is written into is not recomputed, nor what read it", () => {
  const names = describeNodes(planningGraphOfTrace(trace({ readBetween: true })));
  expect(names.slice(1, 4)).toEqual([
    "MatMul#0: reads s1, makes s2, 8 ms",
    "Max#1: reads s2, makes s3, 1 ms, again runs 1",
    "relu_#2: reads s2, makes -, 1 ms",
  ]);
});

test("the caller may say what can be recomputed", () => {
  const graph = planningGraphOfTrace(trace(), { isReplayable: (op) => op === 4 });
  expect([...graph.recomputable]).toEqual([0, 0, 0, 0, 0, 0, 1, 0]);
});

test("a step that recomputes by itself is refused, one whose gradient functions, or whose framework, compute anew is not", () => {
  const trace = (forwardOp: number | undefined, framework = "tfjs") => {
    const b = new TraceBuilder({ framework, device: "cpu", mode: "real", allocationUnitBytes: 1, model: "m" });
    const x = b.tensor({ storage: b.allocate(4, "cpu"), dtype: "float32", shape: [1] });
    b.op({ name: "Sin", inputs: [x], runtimeMs: 1 });
    b.op({
      name: "Sin",
      phase: Phase.recompute,
      inputs: [x],
      runtimeMs: 1,
      ...(forwardOp !== undefined && { forwardOp }),
    });
    b.op({ name: "Cos", phase: Phase.backward, inputs: [x], runtimeMs: 1 });
    return b.build();
  };
  expect(() => planningGraphOfTrace(trace(undefined))).toThrow(
    expect.objectContaining({
      code: "TRACE_RECOMPUTES",
      message: expect.stringMatching(/^1 of the 3 ops of 'm' are recomputations.* checkpointing "free"/),
    }),
  );
  for (const other of [trace(0), trace(undefined, "pytorch")]) expect(planningGraphOfTrace(other).nodeCount).toBe(3);
});

test("a sequence graph that is known is not built again", () => {
  const facts = new StepFacts(trace());
  const { nodeName: _, ...graph } = planningGraphOfTrace(facts.trace, { sequenceGraph: facts.sequenceGraph });
  const { nodeName: __, ...built } = planningGraphOfTrace(facts.trace);
  expect(graph).toEqual(built);
  expect(graph.storageOfValue).toBe(facts.sequenceGraph.storageOfValue);
});
