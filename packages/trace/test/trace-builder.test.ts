import { describe, expect, it } from "vitest";
import { bytesPerElement, EventKind, opEventPositions, RematError, TraceBuilder } from "../src/index.js";
import { callIndex, moduleIndex, opIndex, storageIndex, tensorIndex } from "../src/index-types.js";
import { opFlagNames } from "../src/op-flag-names.js";
import { threeOps } from "./three-ops.js";

function builder(): TraceBuilder {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  b.tensor({ storage: b.allocate(4), dtype: "float32", shape: [1] });
  b.call(b.module({ fqn: "net", kind: "Net", leaf: false }), -1, true);
  b.scope("softmax");
  b.op({ name: "Relu", inputs: [tensorIndex(0)], outputs: [tensorIndex(0)] });
  return b;
}

describe("TraceBuilder", () => {
  it.each<[string, (b: TraceBuilder) => void, string]>([
    ["bytes below zero", (b) => b.allocate(-1), "'bytes': expected a number of bytes, found -1"],
    ["bytes without end", (b) => b.allocate(Infinity), "'bytes': expected a number of bytes, found Infinity"],
    [
      "a category that is none",
      (b) => b.allocate(1, "cpu", 99),
      "'category': expected an integer from 0 to 13, found 99",
    ],
    [
      "a storage that is not there",
      (b) => b.free(storageIndex(1)),
      "'storage': expected an integer from 0 to 0, found 1",
    ],
    [
      "a tensor without storage",
      (b) => b.tensor({ storage: [], dtype: "x", shape: [] }),
      "'storage': expected at least one storage, found none",
    ],
    [
      "a size below zero",
      (b) => b.tensor({ storage: storageIndex(0), dtype: "x", shape: [2, -1] }),
      "'shape': expected sizes, found -1 in dimension 1",
    ],
    [
      "half a stride",
      (b) => b.tensor({ storage: storageIndex(0), dtype: "x", shape: [2], strides: [0.5] }),
      "'strides': expected integers, found 0.5 in dimension 0",
    ],
    [
      "an input that is not there",
      (b) => b.op({ name: "Add", inputs: [tensorIndex(0), tensorIndex(1)] }),
      "'inputs': expected an integer from 0 to 0, found 1",
    ],
    [
      "an output that is not there",
      (b) => b.op({ name: "Add", outputs: [tensorIndex(-1)] }),
      "'outputs': expected an integer from 0 to 0, found -1",
    ],
    [
      "a phase that is none",
      (b) => b.op({ name: "Add", phase: 5 }),
      "'phase': expected an integer from 0 to 4, found 5",
    ],
    [
      "flags that are none",
      (b) => b.op({ name: "Add", flags: 64 }),
      "'flags': expected an integer from 0 to 63, found 64",
    ],
    [
      "a stack that is not there",
      (b) => b.op({ name: "Add", stack: 1 }),
      "'stack': expected an integer from 0 to 0, found 1",
    ],
    [
      "a forward op that has not run",
      (b) => b.op({ name: "Add", forwardOp: opIndex(1) }),
      "'forwardOp': expected an integer from 0 to 0, found 1",
    ],
    [
      "a scope that is not there",
      (b) => b.op({ name: "Add", scope: 3 }),
      "'scope': expected an integer from 0 to 0, found 3",
    ],
    [
      "milliseconds that are no number",
      (b) => b.op({ name: "Add", runtimeMs: Number.NaN }),
      "'runtimeMs': expected a number of ms, found NaN",
    ],
    [
      "operations without end",
      (b) => b.op({ name: "Add", flops: Infinity }),
      "'flops': expected a number of operations, found Infinity",
    ],
    [
      "a call that is not there",
      (b) => b.enterModule(callIndex(1)),
      "'call': expected an integer from 0 to 0, found 1",
    ],
    [
      "a tensor saved for an op far ahead",
      (b) => b.save(storageIndex(0), opIndex(2)),
      "'op': expected an integer from 0 to 1, found 2",
    ],
    [
      "a module's weights that are not there",
      (b) => b.moduleWeights(moduleIndex(0), [tensorIndex(7)]),
      "'parameters': expected an integer from 0 to 0, found 7",
    ],
    [
      "a module without a name",
      (b) => b.module({ fqn: "", kind: "Net", leaf: true }),
      "'fqn': expected the name of a module, found an empty one",
    ],
    ["a hook that is none", (b) => b.fsdpHook(callIndex(0), 0, 8), "'hook': expected an integer from 0 to 7, found 8"],
  ])("refuses %s and records nothing of it", (_, act, message) => {
    const b = builder();
    const before = JSON.stringify(b.build());
    expect(() => act(b)).toThrow(RematError);
    expect(() => act(b)).toThrow(`trace field ${message}`);
    expect(JSON.stringify(b.build())).toBe(before);
  });

  it("says that none is known where there is nothing to point at", () => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    expect(() => b.free(storageIndex(0))).toThrow("trace field 'storage': found 0, but none is known yet");
  });

  it("builds traces that do not change when more is recorded", () => {
    const b = builder();
    const early = b.build();
    const told = JSON.stringify(early);
    for (let i = 0; i < 200; i++) b.op({ name: `Op${i}`, inputs: [tensorIndex(0)], outputs: [tensorIndex(0)] });
    b.module({ fqn: "other", kind: "Net", leaf: true });
    expect(JSON.stringify(early)).toBe(told);
    expect(b.build().ops.count).toBe(201);
  });

  it("numbers the calls of each module and keeps one stack for one list of calls", () => {
    const b = builder();
    const shared = b.module({ fqn: "net.shared", kind: "Dense", leaf: true });
    const first = b.call(shared, callIndex(0), true);
    const second = b.call(shared, callIndex(0), false);
    expect(b.stackOfCall(first)).toBe(b.stack([callIndex(0), first]));
    expect(b.stackOfCall(second)).not.toBe(b.stackOfCall(first));
    expect([b.stackOfCall(-1), b.stack([])]).toEqual([0, 0]);
    const { calls } = b.build();
    expect([[...calls.module], [...calls.number], [...calls.parent], [...calls.tensorInput]]).toEqual([
      [0, 1, 1],
      [0, 0, 1],
      [-1, 0, 0],
      [1, 1, 0],
    ]);
  });
});

describe("Trace", () => {
  it("finds the event of each op", () => {
    const trace = threeOps();
    const positions = opEventPositions(trace);
    expect(positions).toHaveLength(7);
    for (const [op, at] of positions.entries())
      expect([trace.events.kind[at], trace.events.subject[at]]).toEqual([EventKind.op, op]);
  });

  it("is copied with other runtimes or another header, and stays as it was", () => {
    const trace = threeOps();
    const runtimeMs = new Float64Array(7).fill(2);
    const priced = trace.withRuntimes({ runtimeMs, runtimeSource: new Uint8Array(7).fill(1) });
    expect([...priced.ops.runtimeMs]).toEqual([2, 2, 2, 2, 2, 2, 2]);
    expect(trace.ops.runtimeMs[0]).toBe(0.25);
    const noted = trace.withHeader({ ...trace.header, notes: ["priced"] });
    expect([noted.header.notes, trace.header.notes]).toEqual([["priced"], undefined]);
  });

  it("has phases, attributes and modules by op", () => {
    const trace = threeOps();
    expect([0, 1, 2, 3, 4].map((phase) => trace.hasPhase(phase))).toEqual([true, true, true, false, false]);
    expect(trace.opAttributes(opIndex(0))).toEqual({ transposeA: false, transposeB: false });
    expect(trace.opAttributes(opIndex(1))).toEqual({});
    expect(opFlagNames(trace.ops.flags[6])).toEqual(["inPlace"]);
  });
});

describe("sizes", () => {
  it("of elements are known for dtypes, and not for other names", () => {
    expect(["float32", "bool", "complex64", "bfloat16", "string"].map(bytesPerElement)).toEqual([4, 1, 8, 2, 0]);
    expect(["float33", "constructor", "__proto__", ""].map(bytesPerElement)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
