import { expect, test } from "vitest";
import { type CallIndex, FsdpHook, forwardOpsByCall, Phase, type Trace, TraceBuilder } from "../src/index.js";

/** A sharded model with a sharded layer: both are all-gathered before their `forward` begins. */
function shardedStep(): Trace {
  const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const outer = b.call(b.module({ fqn: "Net", kind: "Net", leaf: false }), -1, true);
  const inner = b.call(b.module({ fqn: "Net.layer", kind: "Linear", leaf: true }), outer, true);
  const op = (name: string, call: CallIndex, phase: number = Phase.forward): number =>
    b.op({ name, phase, flags: 0, stack: b.stackOfCall(call), inputs: [], outputs: [] });
  const gather = (call: CallIndex, phase: number): void => {
    b.fsdpHook(call, phase, FsdpHook.preForwardBegin);
    op("c10d._allgather_base_.default", call, phase);
    b.fsdpHook(call, phase, FsdpHook.preForwardEnd);
  };
  b.enterModule(outer);
  gather(outer, Phase.forward);
  op("aten.relu.default", outer);
  b.enterModule(inner);
  gather(inner, Phase.forward);
  op("aten.addmm.default", inner);
  b.exitModule(inner);
  b.exitModule(outer);
  gather(inner, Phase.recompute);
  op("aten.mm.default", inner, Phase.backward);
  return b.build();
}

test("the all-gather before a call's forward pass runs again with the module around it, and not with the call", () => {
  const trace = shardedStep();
  const names = forwardOpsByCall(trace).map((ops) => ops.map((op) => trace.opName(op)));
  expect(names).toEqual([
    ["aten.relu.default", "c10d._allgather_base_.default", "aten.addmm.default"],
    ["aten.addmm.default"],
  ]);
});
