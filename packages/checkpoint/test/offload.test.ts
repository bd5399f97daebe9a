import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import { planCheckpointing, simulateSchedule, workingSet } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { dailyRuns, nativeApp } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import { offloads, type Plan, readPlan, type Trace, writePlan } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { applyPlan, type PlanExecution, type StepReport, withMemoryBudget, withPlan } from "../src/index.js";
import { networkOf, networks, randomlyTimed } from "./networks.js";
import { exampleNamed, gradientsOnly, seeded, train } from "./training.js";

const nativeFolder = nativeApp();
const backends: readonly BackendName[] = nativeFolder === undefined ? ["cpu", "wasm"] : ["cpu", "wasm", "tensorflow"];
const offloadsOnHost = true;
/** Such a link is nearly free, so that plans offload a lot; runtimes decide where they recompute. */
const linkBytesPerSecond = 1e12;
const effort = { iterations: 600, boundTimeMs: 0 };

/** So much of what lies between the least that the step can hold and what it holds where nothing is recomputed. */
function budgetBetween(trace: Trace, share: number): number {
  const graph = planningGraphOfTrace(trace);
  const { peakBytes } = simulateSchedule(
    graph,
    Array.from({ length: graph.nodeCount }, (_, v) => v),
  )!;
  const least = workingSet(graph, false).bytes;
  return Math.floor(least + share * (peakBytes - least));
}

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => {
    if (backend !== "tensorflow") await tf.setBackend(backend);
    else await selectBackend({ backend, from: nativeFolder as string });
  });

  test("any network trains under a plan that offloads as stock, to the bit, in the memory that was predicted, to the byte", async () => {
    const given = checkedShare();
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(networks, fc.integer({ min: 1, max: 1e6 }), async (network, seed) => {
        const build = networkOf(network);
        const trace = randomlyTimed(await traceFakeStep(build, { ...gradientsOnly, backend: backend as never }), seed);
        const budgetBytes = budgetBetween(trace, network.budgetFraction / 2);
        const { point } = await planCheckpointing(trace, { budgetBytes, linkBytesPerSecond, ...effort });
        if (!given(point)) return;
        const plan = readPlan(writePlan(point.plan));
        expect(plan).toEqual(point.plan);
        const stock = await train(build, { steps: 3 });
        const reports: StepReport[] = [];
        const heldBytes: number[] = [];
        let execution: PlanExecution | undefined;
        // From the second step on the ledger knows only of what the first has shown to be of use.
        const planned = await train(build, { steps: 3 }, (step) => {
          execution ??= applyPlan(plan, { offloadsOnHost });
          heldBytes.push(tf.memory().numBytes);
          step();
          reports.push(execution.lastStep as StepReport);
        }).finally(() => execution?.close());
        expect(planned).toEqual(stock);
        // The first update makes slots, and is the first that is seen to read the two scalars of the optimizer.
        const updatedBytes = point.peakBytes + heldBytes[1] - heldBytes[0] + 8;
        expect(reports.map(({ peakBytes }) => peakBytes)).toEqual([point.peakBytes, updatedBytes, updatedBytes]);
        expect(reports.map(({ recomputedOnTouch }) => recomputedOnTouch)).toEqual([0, 0, 0]);
        const [{ offloadedBytes, reloadedBytes }] = reports;
        expect(reports.map((report) => [report.offloadedBytes, report.reloadedBytes])).toEqual(
          reports.map(() => [offloadedBytes, reloadedBytes]),
        );
        expect(offloadedBytes > 0).toBe(offloads(plan));
        expect(reloadedBytes).toBeGreaterThanOrEqual(offloadedBytes);
        if (offloadedBytes > 0) moved++;
      }),
      { numRuns: dailyRuns(20) },
    );
    expect(moved).toBeGreaterThan(5);
  });
});

describe.each([
  ["transformer", 0.2],
  ["gpt-2", 0.2],
  ["u-net", 0.2],
  ["lstm", 0.2],
] as const)("%s", (name, share) => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  test("trains within the budget that its plan keeps by offloading, to the bit and to the byte", async () => {
    const build = await exampleNamed(name);
    const traced = await traceFakeStep(build, { ...gradientsOnly, size: "tiny", backend: "cpu" });
    const trace = priceTrace(traced, deviceSpec("cpu"));
    const budgetBytes = budgetBetween(trace, share);
    const { point } = await planCheckpointing(trace, { budgetBytes, linkBytesPerSecond, ...effort });
    const { plan } = point!;
    expect(offloads(plan)).toBe(true);
    const stock = await train(build);
    let lastStep: StepReport | undefined;
    const planned = await train(build, {}, (step) =>
      withPlan(
        plan,
        (execution) => {
          step();
          lastStep ??= execution.lastStep;
        },
        { offloadsOnHost },
      ),
    );
    expect(planned).toEqual(stock);
    expect(lastStep).toMatchObject({ peakBytes: plan.predicted.peakBytes, recomputedOnTouch: 0 });
  });
});

describe("a step that", () => {
  const depth = 8;
  const read: number[][] = [];

  /** Layers of `tanh(x w)`; `last` gets all their outputs. */
  const network = (last: (ys: readonly tf.Tensor[]) => tf.Tensor = (ys) => ys[depth]) => {
    const weights = seeded(1, () =>
      Array.from({ length: depth }, () => tf.tidy(() => tf.variable(tf.randomNormal([32, 32])))),
    );
    const inputs = seeded(2, () => tf.randomNormal([64, 32]));
    const forward = (x: tf.Tensor): tf.Tensor => {
      const ys = [x];
      for (const weight of weights) ys.push(tf.tanh(tf.matMul(ys[ys.length - 1], weight)));
      return last(ys);
    };
    return { forward, parameters: Object.fromEntries(weights.map((weight, i) => [`net.w${i}`, weight])), inputs };
  };

  const step = ({ forward, inputs, parameters }: ReturnType<typeof network>): number[][] =>
    tf.tidy(() => {
      const { value, grads } = tf.variableGrads(() => tf.sum(forward(inputs)) as tf.Scalar, Object.values(parameters));
      return [value, ...Object.values(grads)].map((tensor) => [...tensor.dataSync()]);
    });

  let plan: Plan;

  beforeAll(async () => {
    await tf.setBackend("cpu");
    const traced = await traceFakeStep(() => network(), { ...gradientsOnly, backend: "cpu" });
    // Recomputing takes as good as forever.
    const runtimeMs = new Float64Array(traced.ops.count).fill(1e6);
    const trace = traced.withRuntimes({ runtimeMs, runtimeSource: new Uint8Array(traced.ops.count) });
    const goal = { budgetBytes: budgetBetween(trace, 0.2), linkBytesPerSecond, ...effort };
    plan = (await planCheckpointing(trace, goal)).point!.plan;
    expect(offloads(plan)).toBe(true);
    expect(plan.steps.some(({ isRecomputed }) => isRecomputed)).toBe(false);
  });

  test("reads what is offloaded has it reloaded there, and goes on", () => {
    const stock = step(network());
    const model = network((ys) => {
      read.push(...ys.map((y) => [...y.dataSync()]));
      return ys[depth];
    });
    step(model);
    const values = read.splice(0);
    const execution = applyPlan(plan, { offloadsOnHost });
    try {
      expect(step(model)).toEqual(stock);
      expect(read.splice(0)).toEqual(values);
      expect(execution.lastStep!.recomputedOnTouch).toBeGreaterThan(0);
      expect(execution.lastStep!.recomputedOps).toBe(0);
      expect(execution.lastStep!.mismatch).toBeUndefined();
    } finally {
      execution.close();
    }
  });

  test("leaves the plan finds all that is offloaded, or is refused with the engine as it was", () => {
    const other = network((ys) => tf.exp(tf.add(ys[depth], ys[1])));
    const stock = step(other);
    const before = tf.memory();
    let execution: Pick<PlanExecution, "lastStep"> | undefined;
    const found = withPlan(
      plan,
      (running) => {
        execution = running;
        return step(other);
      },
      { onMismatch: "store", offloadsOnHost },
    );
    expect(found).toEqual(stock);
    expect(execution!.lastStep).toMatchObject({ plan: undefined, recomputedOps: 0 });
    expect(execution!.lastStep!.offloadedBytes).toBeGreaterThan(0);
    expect(() => withPlan(plan, () => step(other), { offloadsOnHost })).toThrow(
      expect.objectContaining({ code: "PLAN_MISMATCH" }),
    );
    expect(tf.memory()).toMatchObject({ numTensors: before.numTensors, numBytes: before.numBytes });
    expect(step(other)).toEqual(stock);
  });

  test("throws in the middle finds all that is offloaded afterwards", () => {
    const kept: tf.Tensor[] = [];
    const model = network((ys) => {
      kept.push(...ys.slice(1).map((y) => tf.keep(y)));
      throw new Error("user code");
    });
    expect(() => step(model)).toThrow("user code");
    const values = kept.splice(0).map((y) => [...y.dataSync()]);
    expect(() => withPlan(plan, () => step(model), { offloadsOnHost })).toThrow("user code");
    expect(kept.map((y) => [...y.dataSync()])).toEqual(values);
    tf.dispose(kept.splice(0));
  });

  test("computes on the host is refused, unless told otherwise, and so is a memory budget", () => {
    const refused = expect.objectContaining({
      code: "BACKEND_UNSUPPORTED",
      message: expect.stringMatching(/offloads/),
    });
    expect(() => applyPlan(plan)).toThrow(refused);
    expect(() => withPlan(plan, () => step(network()))).toThrow(refused);
    expect(() => withMemoryBudget("80%", () => step(network()), { plan })).toThrow(
      expect.objectContaining({ code: "PLAN_SUBJECT", message: expect.stringMatching(/offloads/) }),
    );
    const stock = step(network());
    expect(step(network())).toEqual(stock);
  });
});
