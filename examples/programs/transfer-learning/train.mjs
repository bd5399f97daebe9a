// Retrains the last layers of a model for other classes, while the earlier layers stay frozen.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

const side = 10;
const images = (count) => tf.randomUniform([count, side, side, 1]);
const labels = (count, classes) =>
  tf.oneHot(
    tf.tensor1d(
      Array.from({ length: count }, (_, i) => i % classes),
      "int32",
    ),
    classes,
  );

const base = tf.sequential({
  layers: [
    tf.layers.conv2d({ inputShape: [side, side, 1], filters: 8, kernelSize: 3, activation: "relu", padding: "same" }),
    tf.layers.conv2d({ filters: 8, kernelSize: 3, activation: "relu" }),
    tf.layers.maxPooling2d({ poolSize: 2 }),
    tf.layers.batchNormalization(),
    tf.layers.flatten(),
    tf.layers.dense({ units: 12, activation: "relu" }),
    tf.layers.dense({ units: 5, activation: "softmax" }),
  ],
});
base.compile({ optimizer: tf.train.sgd(0.05), loss: "categoricalCrossentropy" });
const first = await base.fit(images(16), labels(16, 5), { epochs: 1, batchSize: 8, verbose: 0 });

for (const layer of base.layers.slice(0, 4)) layer.trainable = false;
const features = base.layers.at(-3).output;
const hidden = tf.layers.dense({ units: 8, activation: "relu" }).apply(features);
const head = tf.layers.dense({ units: 3, activation: "softmax" }).apply(hidden);
const model = tf.model({ inputs: base.inputs, outputs: head });
model.compile({ optimizer: tf.train.sgd(0.05), loss: "categoricalCrossentropy", metrics: ["accuracy"] });
const second = await model.fit(images(32), labels(32, 3), { epochs: 2, batchSize: 16, verbose: 0 });
console.log(JSON.stringify([first.history, second.history]));
