import {
  hostMsOf,
  predictPlanned,
  predictReleased,
  predictReleasedPeak,
  predictStock,
  type TimeTrainingOptions,
  timeTraining,
} from "@remat/checkpoint/predict";
import { heldPeak } from "@remat/memory";
import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { BenchmarkCache } from "@remat/runtime-estimator/benchmark";
import { Phase, RuntimeSource, type Trace } from "@remat/trace";
import { traceFakeStep, traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { applyPlan, releaseEarly } from "../../src/index.js";

const build = () => ({
  model: tf.sequential({
    layers: [
      tf.layers.dense({ units: 64, inputShape: [32], activation: "tanh" }),
      tf.layers.dense({ units: 64, activation: "tanh" }),
      tf.layers.dense({ units: 4, activation: "softmax" }),
    ],
  }),
});
const request = { name: "net", batch: 256, optimizer: "momentum", backend: "cpu" } as const;

let traced: Trace;
let releasedPeakBytes: number;
beforeAll(async () => {
  await tf.setBackend("cpu");
  traced = await traceFakeStep(build, request);
  releasedPeakBytes = (await predictReleasedPeak(build, request)).peakBytes;
});

const timed = (options: Partial<TimeTrainingOptions> = {}) =>
  timeTraining(build, traced, { ...request, releasedPeakBytes, isSynchronous: true, ...options });

/** The recorded memory of a real step. */
async function recorded(open: () => () => void) {
  const close = open();
  try {
    return heldPeak(await traceStep(build, request));
  } finally {
    close();
  }
}

describe("the time of a step is predicted", () => {
  it("after a plan never as less than the same step without recomputation, whatever was measured", async () => {
    const deep = () => {
      const layers = Array.from({ length: 8 }, () => tf.layers.dense({ units: 16, activation: "tanh" }));
      return { model: tf.sequential({ layers: [tf.layers.dense({ units: 16, inputShape: [16] }), ...layers] }) };
    };
    const traced = priceTrace(await traceFakeStep(deep, { ...request, batch: 512 }), deviceSpec("cpu"));
    const { point } = await planCheckpointing(traced, { maxOverhead: 1, iterations: 1000 });
    const { plan } = point!;
    expect(plan.steps.some(({ isRecomputed }) => isRecomputed)).toBe(true);
    const ms = fc.double({ min: -5, max: 50, noNaN: true });
    const opMs = fc.array(fc.oneof(fc.double({ min: 0, max: 9 }), fc.constant(Number.NaN), fc.constant(-1)), {
      minLength: traced.ops.count,
      maxLength: traced.ops.count,
    });
    fc.assert(
      fc.property(fc.tuple(ms, ms, ms), opMs, (hostMsByWay, runtimeMs) => {
        const trace = traced.withRuntimes({
          runtimeMs: Float64Array.from(runtimeMs),
          runtimeSource: new Uint8Array(traced.ops.count).fill(RuntimeSource.measured),
        });
        const step = { trace, hostMs: hostMsOf(hostMsByWay) };
        const planned = predictPlanned(step, plan);
        expect(planned.stepMs).toBeGreaterThanOrEqual(planned.unrecomputedMs!);
        expect(planned.stepMs).toBeGreaterThanOrEqual(predictReleased(step, heldPeak(traced)).stepMs);
      }),
      { numRuns: 200 },
    );
  });

  it("to the byte, as it is, with early release and after a plan", async () => {
    const step = await timed();
    const released = await predictReleasedPeak(build, request);
    const { point } = await planCheckpointing(step.trace, { budgetFraction: 0.75, iterations: 300 });
    const { plan } = point!;
    const [stock, early, planned] = [predictStock(step), predictReleased(step, released), predictPlanned(step, plan)];
    expect(await recorded(() => () => {})).toMatchObject({ peakBytes: stock.peakBytes });
    expect(await recorded(releaseEarly)).toMatchObject({ peakBytes: early.peakBytes });
    expect(await recorded(() => applyPlan(plan).close)).toMatchObject({ peakBytes: planned.peakBytes });
    expect(planned.peakBytes).toBe(plan.predicted.peakBytes);
    expect(early.peakBytes).toBeLessThan(stock.peakBytes);
    for (const { ops, stepMs, bytesByCategory, peakBytes } of [stock, early, planned]) {
      expect(ops).toBe(traced.ops.count);
      expect(stepMs).toSatisfy(Number.isFinite);
      expect(Object.values(bytesByCategory).reduce((sum, bytes) => sum + bytes, 0)).toBe(peakBytes);
    }
    expect(stock.recomputedOps).toBe(0);
    expect(planned.recomputedOps).toBe(plan.steps.filter(({ isRecomputed }) => isRecomputed).length);
  });

  it("from real steps, which show the time outside of ops in each strategy", async () => {
    const steps: number[] = [];
    const { trace, hostMs } = await timed({
      onProgress: (progress) => "doneSteps" in progress && steps.push(progress.doneSteps),
    });
    expect(steps.length).toBeGreaterThan(3);
    expect(new Set(trace.ops.runtimeSource)).toEqual(new Set([RuntimeSource.measured]));
    expect(trace.ops.phase.includes(Phase.recompute)).toBe(false);
    expect(Object.keys(hostMs)).toEqual(["stock", "released", "planned"]);
    // The time of a step minus that of its ops, which on a busy machine may be negative.
    for (const ms of Object.values(hostMs)) expect(ms).toSatisfy(Number.isFinite);
  });

  it.each([
    ["without memory for steps", { availableBytes: 1e6 }],
    ["where kernels still run when they have returned", { isSynchronous: false }],
  ])("by each call alone %s, and once only", async (_, options) => {
    const cache = new BenchmarkCache();
    const { trace } = await timed({ ...options, cache });
    expect(cache.size).toBeGreaterThan(5);
    expect(trace.ops.runtimeMs.every((ms) => ms > 0)).toBe(true);
    const known = cache.size;
    const again = await timed({ ...options, cache });
    expect(cache.size).toBe(known);
    expect(again.trace.ops.runtimeMs).toEqual(trace.ops.runtimeMs);
  });
});
