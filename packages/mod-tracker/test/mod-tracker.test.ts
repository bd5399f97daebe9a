import { TraceRecorder, withDispatchMode } from "@remat/dispatch-hook";
import { describeTrace } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, expect, test } from "vitest";
import { ModTracker } from "../src/index.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

function nested(): tf.LayersModel {
  const head = tf.sequential({ name: "head", layers: [tf.layers.dense({ name: "out", units: 1, inputShape: [4] })] });
  const input = tf.input({ shape: [2], name: "input" });
  const shared = tf.layers.dense({ name: "shared", units: 4 });
  const a = shared.apply(input) as tf.SymbolicTensor;
  const b = tf.layers.activation({ name: "act", activation: "relu" }).apply(a) as tf.SymbolicTensor;
  const widened = tf.layers.dense({ name: "widen", units: 2 }).apply(b) as tf.SymbolicTensor;
  const again = shared.apply(widened) as tf.SymbolicTensor;
  const sum = tf.layers.add({ name: "sum" }).apply([a, again]) as tf.SymbolicTensor;
  return tf.model({ name: "net", inputs: input, outputs: head.apply(sum) as tf.SymbolicTensor });
}

test("the whole event log of a training step of a nested model with a shared layer", async () => {
  const model = nested();
  model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
  const x = tf.ones([3, 2]);
  const y = tf.ones([3, 1]);
  const recorder = new TraceRecorder();
  const tracker = new ModTracker({ recorder });
  tracker.track(model);
  await withDispatchMode(recorder, () => withDispatchMode(tracker, () => model.trainOnBatch(x, y)));
  tracker.close();
});
