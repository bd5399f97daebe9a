import { readPyTorchTrace } from "@remat/pytorch";
import { goldensOf } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import { Category, FsdpHook, forwardOpsByCall, OpFlag, Phase, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SACStats, sacStats } from "../src/index.js";
import { randomRun, traceOf } from "./random-run.js";
import { referenceStats } from "./reference-estimator.js";

const plain = (stats: SACStats) => ({
  funcNames: stats.funcNames,
  runtimesMs: [...stats.runtimesMs],
  memoryBytes: [...stats.memoryBytes],
  viewLikeOps: [...stats.viewLikeOps],
  randOps: [...stats.randOps],
  savedAutogradOps: [...stats.savedAutogradOps],
  inplaceOps: Array.from(stats.inplaceOps, (op, i) => [op, stats.inplaceParents[i]]),
  forceStoreRandom: stats.forceStoreRandom,
});

test("are those of an estimator that looks through everything", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(randomRun, (run) => {
      const expected = referenceStats(run);
      given(expected !== "skipped parent");
      if (expected === "skipped parent") {
        expect(() => sacStats(traceOf(run), { asPytorch: true })).toThrow(
          expect.objectContaining({ code: "SAC_SKIPPED_PARENT" }),
        );
        return;
      }
      const found = sacStats(traceOf(run));
      expect([...found.keys()]).toEqual([...expected.keys()]);
      for (const [fqn, stats] of found) expect([fqn, plain(stats)]).toEqual([fqn, expected.get(fqn)]);
    }),
    { numRuns: 600 },
  );
});

test("are about the ops that they name", () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      const trace = traceOf(run);
      for (const { ops, funcNames } of sacStats(trace).values())
        expect(Array.from(ops, (op) => trace.opName(op).split(".")[1])).toEqual([...funcNames]);
    }),
  );
});

test("an op on the result of a skipped one is its own parent, but as in PyTorch an error", () => {
  const golden = goldensOf("sac-oracle/1").find(({ file }) => file.name === "sac_09a_err_clone_inplace");
  if (golden === undefined) return;
  const trace = readPyTorchTrace(golden.golden);
  expect(() => sacStats(trace, { asPytorch: true })).toThrow(
    /^module \S+: in-place op \d+ \(aten\.\w+_\.\w+\) writes into the result of op \d+ \(aten\.clone\.default\)/,
  );
  for (const { inplaceOps, inplaceParents } of sacStats(trace).values()) expect(inplaceParents).toEqual(inplaceOps);
});

test("in the seed's small model relu_, cos_ and sin_ write into the result of addmm", () => {
  const golden = goldensOf("sac-oracle/1").find(({ file }) => file.name === "sac_01_foo");
  if (golden === undefined) return;
  const stats = sacStats(readPyTorchTrace(golden.golden)).get("Foo") as SACStats;
  expect(plain(stats).inplaceOps).toEqual([
    [2, 1],
    [3, 1],
    [4, 1],
  ]);
});

describe("memory", () => {
  function oneOp(device: string, bytes: number): Float64Array {
    const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
    const call = b.call(b.module({ fqn: "Net", kind: "Net", leaf: false }), -1, true);
    b.enterModule(call);
    for (let i = 0; i < 2; i++)
      b.op({
        name: "aten.mm.default",
        outputs: [b.tensor({ storage: b.allocate(bytes, device), dtype: "float32", shape: [1] })],
      });
    b.exitModule(call);
    return sacStats(b.build()).get("Net")?.memoryBytes as Float64Array;
  }

  test("is rounded up to the device's unit, and the last op's is 0", () => {
    expect([...oneOp("cuda:0", 513)]).toEqual([1024, 0]);
    expect([...oneOp("cuda:1", 513)]).toEqual([1024, 0]);
  });

  test("is not rounded on another kind of device", () => {
    expect([...oneOp("cpu", 513)]).toEqual([513, 0]);
  });
});

test("an op with results on two accelerators is refused", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 512 });
  const tensor = (device: string) => b.tensor({ storage: b.allocate(4, device), dtype: "float32", shape: [1] });
  b.op({ name: "aten.split.Tensor", outputs: [tensor("cuda:0"), tensor("cpu"), tensor("cuda:1")], flags: OpFlag.view });
  expect(() => sacStats(b.build())).toThrow(
    expect.objectContaining({
      code: "SAC_DEVICES",
      message: expect.stringMatching(/results on cuda:0 and cuda:1, and only one accelerator/),
    }),
  );
});

describe("a function in TensorFlow.js, which is not told what it is given", () => {
  /** A scope that runs one op on a tensor, after an op outside of it. */
  const forced = (framework: "tfjs" | "pytorch", category: number | "constant" | "result" | "weight"): boolean => {
    const b = new TraceBuilder({ framework, device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const tensor = (of: number = Category.other) =>
      b.tensor({ storage: b.allocate(4, "cpu", of), dtype: "float32", shape: [1] });
    const result = tensor();
    b.op({ name: "Relu", outputs: [result] });
    const given = category === "result" ? result : tensor(typeof category === "number" ? category : Category.other);
    const module = b.module({ fqn: "net", kind: "Scope", leaf: false });
    if (category === "weight") b.moduleWeights(module, [given]);
    const call = b.call(module, -1, false);
    b.enterModule(call);
    b.op({ name: "Multinomial", stack: b.stackOfCall(call), inputs: [given], outputs: [tensor()] });
    b.exitModule(call);
    return sacStats(b.build()).get("net")!.forceStoreRandom;
  };

  test.each([
    ["an input of the step", Category.input, false],
    ["the result of an earlier op", "result", false],
    ["a constant of its own", "constant", true],
    ["a weight", "weight", true],
  ] as const)("stores random ops if it works on nothing from outside: %s", (_, category, isForced) => {
    expect(forced("tfjs", category)).toBe(isForced);
    expect(forced("pytorch", category)).toBe(true);
  });
});

test("a tfjs kernel keeps its name, a module without ops has empty lists", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const net = b.call(b.module({ fqn: "net", kind: "Model", leaf: false }), -1, false);
  const empty = b.call(b.module({ fqn: "net.empty", kind: "Sequential", leaf: false }), net, true);
  b.enterModule(net);
  b.enterModule(empty);
  b.exitModule(empty);
  b.op({ name: "Relu.x", outputs: [b.tensor({ storage: b.allocate(4), dtype: "float32", shape: [1] })], runtimeMs: 2 });
  b.exitModule(net);
  const none = {
    funcNames: [],
    runtimesMs: [],
    memoryBytes: [],
    viewLikeOps: [],
    randOps: [],
    savedAutogradOps: [],
    inplaceOps: [],
  };
  expect(Array.from(sacStats(b.build()), ([fqn, stats]) => [fqn, plain(stats)])).toEqual([
    ["net.empty", { ...none, forceStoreRandom: false }],
    ["net", { ...none, funcNames: ["Relu.x"], runtimesMs: [2], memoryBytes: [0], forceStoreRandom: true }],
  ]);
});

test("for a sharded module statistics are about the ops that run again, which exclude FSDP's all-gather", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const call = b.call(b.module({ fqn: "Net", kind: "Net", leaf: false }), -1, true);
  const op = (name: string): number =>
    b.op({ name, phase: Phase.forward, flags: 0, stack: b.stackOfCall(call), inputs: [], outputs: [] });
  b.enterModule(call);
  b.fsdpHook(call, Phase.forward, FsdpHook.preForwardBegin);
  op("aten.copy_.default");
  b.fsdpHook(call, Phase.forward, FsdpHook.preForwardEnd);
  op("aten.mm.default");
  b.exitModule(call);
  const trace = b.build();
  expect([...sacStats(trace).get("Net")!.ops]).toEqual(forwardOpsByCall(trace)[call]);
  expect(sacStats(trace).get("Net")!.funcNames).toEqual(["mm"]);
});
