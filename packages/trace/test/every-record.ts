import { Category, FsdpHook, Phase, TraceBuilder } from "../src/index.js";
import { moduleIndex } from "../src/index-types.js";
import { linesOf } from "./bytes.js";

/** Every kind of record with every one of its fields. */
export function everyRecord(): string[] {
  const b = new TraceBuilder({
    framework: "pytorch",
    frameworkVersion: "2.13",
    backend: "cuda",
    device: "cuda:0",
    mode: "fake",
    deviceMemoryBytes: 2 ** 36,
    allocationUnitBytes: 512,
    model: "net",
    hostMs: 12.5,
    checkpointingMs: { frame: 0.1, selective: 0.08, save: 0.009, dispatch: 0.015, count: 0.02, rerun: 0.01 },
    moduleCount: 2,
    libraries: { torch: "2.13" },
    failure: {
      cause: "kernel",
      message: "OOM",
      askedBytes: 2 ** 30,
      op: "aten.mm",
      line: "a.py:1:2",
      program: ["python"],
    },
    notes: ["the loss is the sum"],
  });
  const outer = b.call(b.module({ fqn: "net", kind: "Net", leaf: false }), -1, true);
  const inner = b.call(b.module({ fqn: "net.fc", kind: "Linear", leaf: true }), outer, true);
  b.fsdpHook(outer, Phase.forward, FsdpHook.preForwardBegin);
  const s = b.allocate(4096, "cpu", Category.input);
  b.resize(s, 0);
  const x = b.tensor({ storage: [s, b.allocate(1)], dtype: "float32", shape: [4, 256], strides: [256, 1] });
  b.enterModule(inner, Phase.forward, [x]);
  const scope = b.scope("softmax", b.scope("attention", -1, { checkpoint: "reentrant", line: "train.py:3" }));
  b.enterScope(scope, [x]);
  const made = b.tensor({ storage: b.allocate(512, "cpu"), dtype: "int32", shape: [3], strides: [1] });
  const op = b.op({ name: "aten.mm", stack: b.stack([inner, outer]), scope, inputs: [x], outputs: [made] });
  b.op({
    name: "aten.mm_backward",
    phase: Phase.backward,
    flags: 5,
    stack: b.stackOfCall(inner),
    forwardOp: op,
    forwardScope: scope,
    inputs: [x],
    outputs: [made],
    writes: [x],
    attributes: { k: 1 },
    line: "train.js:3:7",
    runtimeMs: 1,
    runtimeSource: 1,
    runtimeSpreadMs: 2,
    runtimeRuns: 3,
    flops: 4,
    bytesRead: 5,
    bytesWritten: 6,
  });
  b.save(s, op, 0, x);
  b.savedOnly(s);
  b.unpack(0);
  b.unsave(0);
  b.categorize(s, Category.activation);
  b.exitScope(scope, [made]);
  b.exitModule(inner, Phase.forward, [made]);
  b.free(s);
  b.mark("step");
  b.moduleWeights(moduleIndex(1), [x], [made]);
  return linesOf(b.build());
}
