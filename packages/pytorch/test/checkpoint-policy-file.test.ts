import { FsdpHook, Phase, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";
import { toCheckpointPolicyFile, writeCheckpointPolicyFile } from "../src/index.js";

test("a policy names the class and the weights of each module, and saved ops by name and ordinal", () => {
  const b = new TraceBuilder({
    framework: "pytorch",
    frameworkVersion: "2.13.0",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
    model: "net",
    moduleCount: 3,
  });
  const root = b.module({ fqn: "Net", kind: "Net", leaf: false });
  const layer = b.module({ fqn: "Net.layer", kind: "Linear", leaf: true });
  const weight = b.tensor({ storage: b.allocate(24), dtype: "float32", shape: [2, 3] });
  b.moduleWeights(layer, [weight], []);
  const outer = b.call(root, -1, true);
  const inner = b.call(layer, outer, true);
  for (const name of ["aten.mm.default", "aten.t.default", "aten.mm.default"])
    b.op({ name, phase: 0, flags: 0, stack: b.stackOfCall(inner), inputs: [weight], outputs: [] });
  const file = toCheckpointPolicyFile(b.build(), [
    { fqn: "Net.layer", saved: [2] },
    { fqn: "Net", saved: [], ops: [1, 3] },
    { fqn: "Net", saved: [], ops: [0, 1] },
  ]);
  expect(file).toEqual({
    format: "remat-pytorch-policy/4",
    model: "net",
    torch: "2.13.0",
    moduleCount: 3,
    modules: {
      layer: { type: "Linear", parameters: [[2, 3]], save: [{ op: "aten.mm.default", ordinal: 1 }] },
      "": {
        type: "Net",
        parameters: [],
        save: [],
        parts: [
          [0, 1],
          [1, 3],
        ],
        ops: 3,
        path: [0, 1, 0],
        names: ["aten.mm.default", "aten.t.default"],
      },
    },
  });
  expect(JSON.parse(writeCheckpointPolicyFile(file))).toEqual(file);
  expect(writeCheckpointPolicyFile(file).split("\n")).toHaveLength(11);
});

test("ops of a sharded module count from where its weights are all-gathered, as `remat.apply` counts them", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const call = b.call(b.module({ fqn: "Net", kind: "Net", leaf: false }), -1, true);
  const op = (name: string): number =>
    b.op({ name, phase: Phase.forward, flags: 0, stack: b.stackOfCall(call), inputs: [], outputs: [] });
  b.enterModule(call);
  b.fsdpHook(call, Phase.forward, FsdpHook.preForwardBegin);
  op("aten.copy_.default");
  op("aten.mm.default");
  b.fsdpHook(call, Phase.forward, FsdpHook.preForwardEnd);
  op("aten.mm.default");
  op("aten.relu.default");
  b.exitModule(call);
  const { modules } = toCheckpointPolicyFile(b.build(), [{ fqn: "Net", saved: [0], ops: [0, 2] }]);
  expect(modules[""]).toMatchObject({ save: [{ op: "aten.mm.default", ordinal: 0 }], parts: [[0, 2]], ops: 2 });
});

test("saved ops are those of a call that autograd saves tensors in, not of an earlier call without gradients", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const net = b.module({ fqn: "Net", kind: "Net", leaf: true });
  const storage = b.allocate(4);
  const run = (names: readonly string[], saves: boolean): void => {
    const call = b.call(net, -1, true);
    b.enterModule(call);
    for (const name of names)
      b.op({ name, phase: Phase.forward, flags: 0, stack: b.stackOfCall(call), inputs: [], outputs: [] });
    if (saves) b.save(storage);
    b.exitModule(call);
  };
  // In inference mode, PyTorch dispatches whole ops.
  run(["aten.linear.default", "aten.gelu.default", "aten.dropout.default"], false);
  run(["aten.t.default", "aten.addmm.default", "aten.gelu.default", "aten.bernoulli_.float"], true);
  const { modules } = toCheckpointPolicyFile(b.build(), [{ fqn: "Net", saved: [1, 2] }]);
  expect(modules[""].save).toEqual([
    { op: "aten.addmm.default", ordinal: 0 },
    { op: "aten.gelu.default", ordinal: 0 },
  ]);
});
