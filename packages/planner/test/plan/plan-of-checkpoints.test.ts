import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { sacStats } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import { Phase, type Plan, type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { planningGraphOfTrace } from "../../src/graph/planning-graph-of-trace.js";
import { planModule } from "../../src/module-policy/plan-module.js";
import { planOfCheckpoints } from "../../src/plan/plan-of-checkpoints.js";
import { trainingTrace } from "../training-trace.js";
import { followPlan } from "./follow-plan.js";

const options = { budgetBytes: 1e12, method: "test" };

/** The recomputed ops, each with the op that it precedes. */
function story(trace: Trace, plan: Plan): string[] {
  const lines: string[] = [];
  let again: string[] = [];
  for (const { op, isRecomputed } of plan.steps) {
    const name = `${trace.opModule(op)?.fqn ?? "-"} ${trace.opName(op)}`;
    if (isRecomputed) again.push(name);
    else if (again.length > 0) {
      lines.push(`before op ${op} ${name}: ${again.join(", ")}`);
      again = [];
    }
  }
  return lines;
}

describe("planOfCheckpoints", () => {
  it("recomputes what a module freed when its backward pass first reads it, and no more than that needs", () => {
    const trace = trainingTrace(3);
    const graph = planningGraphOfTrace(trace);
    const policies = [
      { fqn: "net.layer_0", recomputedOps: [0, 1, 2] },
      { fqn: "net.layer_1", recomputedOps: [2, 1] },
      { fqn: "net.layer_2", recomputedOps: [0] },
    ];
    const plan = planOfCheckpoints(trace, graph, policies, options);
    expect(story(trace, plan)).toEqual([
      "before op 14 net.layer_1 TanhGrad: net.layer_1 Add, net.layer_1 Tanh",
      "before op 18 net.layer_0 TanhGrad: net.layer_0 MatMul, net.layer_0 Add, net.layer_0 Tanh",
    ]);
    expect(plan.predicted).toMatchObject({ peakBytes: followPlan(trace, plan), lowerBound: plan.predicted.plain.cost });
    expect(plan.predicted.cost).toBe(plan.predicted.plain.cost + 3 + 13);
    expect(plan.origin).toEqual({ method: "test", budgetBytes: 1e12, order: "fixed" });
  });

  it("leaves to a later module what only that one reads in its backward pass", () => {
    const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const made: number[] = [];
    const stacks = ["net.a", "net.b"].map((fqn) =>
      b.stackOfCall(b.call(b.module({ fqn, kind: "Linear", leaf: true }), -1, true)),
    );
    const make = () => {
      made.push(b.allocate(8));
      return b.tensor({ storage: made.at(-1)!, dtype: "float32", shape: [2] });
    };
    const run = (phase: number, stack: number, inputs: number[]) => {
      const output = make();
      b.op({ name: "mm", phase, stack, inputs, outputs: [output], runtimeMs: 1 });
      return output;
    };
    const input = make();
    const hidden = run(Phase.forward, stacks[0], [input]);
    const output = run(Phase.forward, stacks[1], [hidden]);
    const gradient = run(Phase.backward, stacks[1], [output, hidden]);
    run(Phase.backward, stacks[0], [gradient, input]);
    for (const storage of made) b.free(storage);
    const trace = b.build();
    const plan = planOfCheckpoints(trace, planningGraphOfTrace(trace), [{ fqn: "net.a", recomputedOps: [0] }], options);
    expect(story(trace, plan)).toEqual([]);
  });

  it("changes nothing without policies", () => {
    const trace = trainingTrace(4);
    const plan = planOfCheckpoints(trace, planningGraphOfTrace(trace), [], options);
    expect(plan.predicted).toMatchObject({ overhead: 0, gap: 0, peakBytes: plan.predicted.plain.peakBytes });
  });

  it("needs less the more the blocks of a transformer free, and what it predicts", async () => {
    const golden = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!;
    const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
    const graph = planningGraphOfTrace(trace, {
      isReplayable: (op) => trace.ops.phase[op] === Phase.forward,
    });
    const stats = sacStats(trace);
    const blocks = [0, 1, 2, 3].map((i) => `Transformer.layers.${i}`);
    const peaks: number[] = [];
    for (const share of [0, 0.5, 1]) {
      const policies = await Promise.all(
        blocks.map(async (fqn) => ({ fqn, ...(await planModule(stats.get(fqn)!, { budgetFraction: 1 - share })) })),
      );
      const plan = planOfCheckpoints(trace, graph, policies, options);
      expect(followPlan(trace, plan)).toBe(plan.predicted.peakBytes);
      peaks.push(plan.predicted.peakBytes);
    }
    expect(peaks[1]).toBeLessThan(peaks[0]);
    expect(peaks[2]).toBeLessThan(peaks[1]);
  });

  it("refuses modules and ops that are not there", () => {
    const trace = trainingTrace(2);
    const graph = planningGraphOfTrace(trace);
    const make = (fqn: string, op: number) => () =>
      planOfCheckpoints(trace, graph, [{ fqn, recomputedOps: [op] }], options);
    expect(make("net.layer_7", 0)).toThrow("net.layer_7 runs no op in this trace");
    expect(make("net.layer_1", 3)).toThrow("op 3 of net.layer_1 does not exist: it has 3 ops");
  });
});
