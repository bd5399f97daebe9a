import { describe, expect, it } from "vitest";
import { findPlanMismatch, type Plan, type Trace, TraceBuilder } from "../src/index.js";

/** A run of an op in each module. */
function run(names: readonly string[], kernel = "Relu"): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  for (const fqn of names) {
    const call = b.call(b.module({ fqn, kind: "Layer", leaf: true }), -1, true);
    const storage = b.allocate(8, "cpu");
    const tensor = b.tensor({ storage, dtype: "float32", shape: [2] });
    b.op({ name: kernel, stack: b.stackOfCall(call), outputs: [tensor] });
  }
  return b.build();
}

/** A plan's description of the ops of such a run. */
const planOf = (names: readonly string[]): Plan =>
  ({
    subject: { kind: "trace", name: "m" },
    ops: names.map((module) => ({
      ...{ module, call: 0, phase: "forward", kernel: "Relu", ordinal: 0 },
      outputs: [{ dtype: "float32", shape: [2] }],
    })),
  }) as unknown as Plan;

describe("a plan fits a run", () => {
  it("whose modules are numbered otherwise, each always alike", () => {
    const planned = planOf(["sequential_2.dense_Dense5", "sequential_2.dense_Dense6", "sequential_2.dense_Dense5"]);
    const names = ["sequential_1.dense_Dense1", "sequential_1.dense_Dense2", "sequential_1.dense_Dense1"];
    const calls = run(names.slice(0, 2));
    expect(findPlanMismatch({ ...planned, ops: planned.ops.slice(0, 2) }, calls)).toBeUndefined();
  });

  it.each([
    ["two that are one there", ["a_1", "a_2"], ["a_3", "a_3"]],
    ["one that is two there", ["a_1", "a_1"], ["a_3", "a_4"]],
    ["another name", ["a_1"], ["b_1"]],
  ])("but not with %s", (_, planned, found) => {
    const mismatch = findPlanMismatch(planOf(planned), run(found));
    expect(mismatch?.op).toBe(planned.length - 1);
  });

  it("but not where ops are others", () => {
    expect(findPlanMismatch(planOf(["a_1"]), run(["a_2"], "Tanh"))?.op).toBe(0);
    expect(findPlanMismatch(planOf(["a_1"]), run(["a_1"]))).toBeUndefined();
  });
});
