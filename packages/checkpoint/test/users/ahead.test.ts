import { withDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { opOccurrences, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { applyPlan } from "../../src/index.js";
import { type Training, type WayToTrain, waysToTrain } from "./ways-to-train.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const bitsOf = ({ weights }: Training) =>
  weights.map((weight) => Buffer.from(weight.dataSync().slice().buffer).toString("base64"));

async function traceOf(training: Training): Promise<Trace> {
  const recorder = new TraceRecorder();
  await withDispatchMode(recorder, () => training.run());
  return recorder.trace();
}

/** State of a training: the fields of its optimizers and layers, and the number of tensors. */
const stateOf = (training: Training) => {
  const { numTensors, numBytes, numDataBuffers } = tf.memory();
  return {
    weights: bitsOf(training),
    alive: training.weights.every(({ isDisposed }) => !isDisposed),
    numTensors,
    numBytes,
    numDataBuffers,
  };
};

async function trained(make: WayToTrain): Promise<readonly string[]> {
  const training = make();
  await training.run();
  const weights = bitsOf(training);
  training.dispose();
  return weights;
}

describe.each(Object.entries(waysToTrain))("%s", (_, make) => {
  test("runs without data as it does with it, leaves everything as it was, and a plan made so is followed", async () => {
    const stock = await trained(make);
    const training = make();
    const before = stateOf(training);
    const ahead = await fakeMode(() => traceOf(training));
    expect(stateOf(training)).toEqual(before);

    const other = make();
    const real = await traceOf(other);
    other.dispose();
    expect(opOccurrences(ahead)).toEqual(opOccurrences(real));

    const { point } = await planCheckpointing(priceTrace(ahead, deviceSpec("cpu")), {
      budgetFraction: 0.7,
      timeMs: 500,
      boundTimeMs: 0,
    });
    if (point === undefined) throw new Error("there is no plan");
    const execution = applyPlan(point.plan);
    try {
      await training.run();
      expect(execution.lastStep?.mismatch).toBeUndefined();
      expect(execution.lastStep?.recomputedOnTouch).toBe(0);
    } finally {
      execution.close();
    }
    expect(bitsOf(training)).toEqual(stock);
    training.dispose();
  });
});
