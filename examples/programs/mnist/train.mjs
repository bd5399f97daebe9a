// Digits with a convolutional network: `fit` of a compiled model, with validation.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

const side = 16;
const classes = 10;

/** Each class is a bar at a different place, with noise. */
function digits(count) {
  const labels = Array.from({ length: count }, (_, i) => i % classes);
  const bars = labels.map((label) =>
    Array.from({ length: side * side }, (_, at) => (Math.floor((at % side) / 1.6) === label ? 1 : 0)),
  );
  return tf.tidy(() => ({
    images: tf.tensor(bars.flat(), [count, side, side, 1]).add(tf.randomNormal([count, side, side, 1], 0, 0.3)),
    targets: tf.oneHot(tf.tensor1d(labels, "int32"), classes).toFloat(),
  }));
}

const model = tf.sequential();
model.add(tf.layers.conv2d({ inputShape: [side, side, 1], kernelSize: 3, filters: 6, activation: "relu" }));
model.add(tf.layers.maxPooling2d({ poolSize: 2, strides: 2 }));
model.add(tf.layers.conv2d({ kernelSize: 3, filters: 8, activation: "relu" }));
model.add(tf.layers.maxPooling2d({ poolSize: 2, strides: 2 }));
model.add(tf.layers.dropout({ rate: 0.25 }));
model.add(tf.layers.flatten());
model.add(tf.layers.dense({ units: classes, activation: "softmax" }));
model.compile({ optimizer: "rmsprop", loss: "categoricalCrossentropy", metrics: ["accuracy"] });

const train = digits(20);
const test = digits(10);
const { history } = await model.fit(train.images, train.targets, {
  epochs: 2,
  batchSize: 10,
  validationData: [test.images, test.targets],
  verbose: 0,
});
console.log(JSON.stringify(history));
