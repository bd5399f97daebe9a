import { heldPeak } from "@remat/memory";
import { readPlan, TraceBuilder, writePlan } from "@remat/trace";
import { expect, test } from "vitest";
import { planCheckpointing } from "../../src/checkpointing/plan-checkpointing.js";
import { followPlan } from "../plan/follow-plan.js";
import { trainingTrace } from "../training-trace.js";

const trace = trainingTrace(12);

test("a budget in bytes or as a fraction of the recorded peak is met by a plan that can be followed", async () => {
  const recorded = heldPeak(trace).peakBytes;
  for (const goal of [{ budgetBytes: 0.17 * recorded }, { budgetFraction: 0.17 }]) {
    const {
      point,
      infeasible,
      recordedPeakBytes: told,
      front,
      recommended,
    } = await planCheckpointing(trace, { ...goal, iterations: 30_000 });
    expect(told).toBe(recorded);
    expect(infeasible).toBeUndefined();
    expect({ front, recommended }).toEqual({ front: [], recommended: undefined });
    const plan = readPlan(writePlan(point!.plan));
    expect(followPlan(trace, plan)).toBe(point!.peakBytes);
    expect(point!.peakBytes).toBeLessThanOrEqual(0.17 * recorded);
    expect(point!.overhead).toBeGreaterThan(0);
    expect(point!.overhead).toBeLessThan(0.4);
  }
});

test("a fraction that leaves less than a byte is one that nothing keeps to", async () => {
  const { point, infeasible } = await planCheckpointing(trace, { budgetFraction: 1e-9, iterations: 10 });
  expect(point).toBeUndefined();
  expect(infeasible).toMatchObject({ isProven: true });
});

test("the smallest peak within an overhead is found", async () => {
  const [tight, wide] = await Promise.all(
    [0.05, 0.3].map((maxOverhead) => planCheckpointing(trace, { maxOverhead, iterations: 60_000, boundTimeMs: 50 })),
  );
  expect(tight.point!.overhead).toBeLessThanOrEqual(0.05);
  expect(wide.point!.overhead).toBeLessThanOrEqual(0.3);
  expect(wide.point!.peakBytes).toBeLessThan(tight.point!.peakBytes);
  expect(tight.point!.peakBytes).toBeLessThan(tight.point!.plan.predicted.plain.peakBytes);
});

test("along a front, peaks fall and costs rise, and three points are recommended", async () => {
  const { front, recommended } = await planCheckpointing(trace, {
    budgetFraction: 0.5,
    paretoPoints: 20,
    iterations: 120_000,
    boundTimeMs: 20,
  });
  expect(front).toHaveLength(20);
  front.forEach((point, i) => {
    expect(point.peakBytes).toBeLessThanOrEqual(point.budgetBytes);
    expect(followPlan(trace, point.plan)).toBe(point.peakBytes);
    if (i === 0) return;
    expect(point.budgetBytes).toBeLessThan(front[i - 1].budgetBytes);
    expect(point.peakBytes).toBeLessThanOrEqual(front[i - 1].peakBytes);
    expect(point.stepMs).toBeGreaterThanOrEqual(front[i - 1].stepMs);
  });
  const { noCost, within5Percent, within20Percent } = recommended!;
  expect(noCost.overhead).toBe(0);
  expect(within5Percent.overhead).toBeLessThanOrEqual(0.05);
  expect(within20Percent.overhead).toBeLessThanOrEqual(0.2);
  expect(noCost.peakBytes).toBeGreaterThan(within5Percent.peakBytes);
  expect(within5Percent.peakBytes).toBeGreaterThan(within20Percent.peakBytes);
});

test("the same seed and count give the same plan", async () => {
  const plans = await Promise.all(
    [1, 2].map(
      async () => (await planCheckpointing(trace, { budgetFraction: 0.17, iterations: 5000, seed: 7 })).point!.plan,
    ),
  );
  expect(plans[1].steps).toEqual(plans[0].steps);
});

test("an abort ends the whole call, with what was found until then", async () => {
  const controller = new AbortController();
  const told: number[] = [];
  const { point, infeasible, front } = await planCheckpointing(trace, {
    budgetFraction: 0.17,
    paretoPoints: 3,
    timeMs: 3_600_000,
    boundTimeMs: 0,
    signal: controller.signal,
    onProgress: ({ iterations, cost }) => {
      told.push(iterations);
      if (cost !== undefined) controller.abort();
    },
  });
  expect(told.at(-1)).toBeGreaterThan(0);
  expect(infeasible).toBeUndefined();
  expect(followPlan(trace, point!.plan)).toBe(point!.peakBytes);
  expect(front).toHaveLength(3);
});

test("a search that is aborted before it begins ends early, and proves nothing", async () => {
  const aborted = { budgetFraction: 0.17, timeMs: 3_600_000, signal: AbortSignal.abort() };
  const { point, infeasible } = await planCheckpointing(trace, aborted);
  expect(point).toBeUndefined();
  expect(infeasible).toMatchObject({ isProven: false, lowerBoundBytes: 2560 });
  expect(infeasible!.smallestFoundBytes).toBeLessThan(heldPeak(trace).peakBytes);
});

test("if nothing fits, the bottleneck op is named, with its inputs and outputs", async () => {
  const { point, infeasible } = await planCheckpointing(trace, { budgetBytes: 1000, iterations: 20_000 });
  expect(point).toBeUndefined();
  expect(infeasible).toEqual({
    isProven: true,
    lowerBoundBytes: 2560,
    smallestFoundBytes: infeasible!.smallestFoundBytes,
    op: 84,
    occurrence: {
      module: "net.layer_0",
      call: 0,
      phase: "backward",
      kernel: "Add",
      ordinal: 0,
      outputs: [{ dtype: "float32", shape: [100] }],
    },
    inputs: [
      { name: "net.layer_0[0] backward MatMul 1: float32[100]", bytes: 400 },
      { name: "net.layer_0[0] backward TanhGrad 0: float32[100]", bytes: 400 },
    ],
    outputs: [{ name: "net.layer_0[0] backward Add 0: float32[100]", bytes: 400 }],
    heldBytes: 880,
    // The gradients of the weights.
    waitingBytes: 480,
  });
  expect(infeasible!.smallestFoundBytes).toBeGreaterThanOrEqual(infeasible!.lowerBoundBytes);
});

test.each([
  [{}, "pass exactly one of budgetBytes, budgetFraction and maxOverhead; found none"],
  [
    { budgetBytes: 1, maxOverhead: 1 },
    "pass exactly one of budgetBytes, budgetFraction and maxOverhead; found budgetBytes, maxOverhead",
  ],
  [{ budgetBytes: 0 }, "budgetBytes must be a number above 0; found 0"],
  [{ budgetBytes: "2GB" }, 'budgetBytes must be a number above 0; found "2GB"'],
  [{ budgetFraction: 1.5 }, "budgetFraction must be a number above 0 and at most 1; found 1.5"],
  [{ maxOverhead: -0.1 }, "maxOverhead must be a number of at least 0; found -0.1"],
])("the goal %j is refused", async (goal, message) => {
  await expect(planCheckpointing(trace, goal as unknown as { budgetBytes: number })).rejects.toThrow(message);
});

test("a trace without a backward pass, or without runtimes, is refused", async () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "m" });
  b.op({ name: "Relu", runtimeMs: 1 });
  await expect(planCheckpointing(b.build(), { budgetBytes: 1 })).rejects.toThrow(
    "the trace of 'm' has 1 ops but no backward pass. Trace a training step.",
  );
  await expect(
    planCheckpointing(trace.withRuntimes({ ...trace.ops, runtimeMs: new Float64Array(trace.ops.count) }), {
      budgetBytes: 1,
    }),
  ).rejects.toThrow(
    "none of the 85 ops has a runtime. Estimate them with priceTrace(trace, device) of @remat/runtime-estimator before planning.",
  );
});
