import { withDispatchMode } from "@remat/dispatch-hook";
import { RuntimeSource } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test } from "vitest";
import { TraceRecorder } from "../../../tracer/src/recorder/trace-recorder.js";
import { benchmarkTrace } from "../../src/benchmark/index.js";

beforeAll(() => tf.setBackend("cpu"));

test("every op of a recorded training step is measured, and its FLOPs are known", async () => {
  const recorder = new TraceRecorder();
  const kernel = tf.variable(tf.randomNormal<tf.Rank.R4>([3, 3, 1, 4]));
  const weights = tf.variable(tf.randomNormal([64, 10]));
  const x = tf.randomNormal<tf.Rank.R4>([2, 8, 8, 1]);
  const labels = tf.oneHot(tf.tensor1d([3, 7], "int32"), 10);
  const loss = () => {
    const features = tf.fused.conv2d({ x, filter: kernel as tf.Tensor4D, strides: 1, pad: "same", activation: "relu" });
    const pooled = tf.maxPool(features, 2, 2, "same");
    const logits = tf.matMul(tf.reshape(pooled, [2, 64]), weights as tf.Tensor2D);
    return tf.losses.softmaxCrossEntropy(labels, logits) as tf.Scalar;
  };
  withDispatchMode(recorder, () => tf.tidy(() => void tf.train.adam().minimize(loss)));
  const { trace, notMeasured } = await benchmarkTrace(recorder.trace(), { maxRuns: 2, minRuns: 2, budgetMsPerCall: 0 });
  expect(notMeasured).toEqual([]);
  expect(trace.ops.count).toBeGreaterThan(40);
  expect(trace.ops.runtimeSource.every((source) => source === RuntimeSource.measured)).toBe(true);
  const flops = (name: string) =>
    Array.from({ length: trace.ops.count }, (_, op) => op)
      .filter((op) => trace.opName(op) === name)
      .map((op) => trace.ops.flops[op]);
  expect(flops("BatchMatMul")[0]).toBe(2 * 2 * 64 * 10);
  expect(flops("Conv2DBackpropFilter")).toEqual([2 * (2 * 8 * 8 * 4) * 9]);
  tf.dispose([kernel, weights, x, labels]);
});
