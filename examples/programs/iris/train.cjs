// Iris flowers with a small dense network, in CommonJS: `fit` with callbacks for each epoch and each batch.
require("../seeded.cjs");
const tf = require("@tensorflow/tfjs");

const flowers = 120;
const features = Array.from({ length: flowers }, (_, i) =>
  [5, 3, 4, 1].map((size) => size + (i % 3) * 0.8 + Math.random()),
);
const x = tf.tensor2d(features);
const y = tf.oneHot(
  tf.tensor1d(
    features.map((_, i) => i % 3),
    "int32",
  ),
  3,
);

const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: 32, activation: "sigmoid", inputShape: [4] }),
    tf.layers.dense({ units: 3, activation: "softmax" }),
  ],
});
model.compile({ optimizer: tf.train.sgd(0.1), loss: "categoricalCrossentropy", metrics: ["accuracy"] });

async function main() {
  await model.fit(x, y, {
    epochs: 3,
    batchSize: 60,
    validationSplit: 0.2,
    verbose: 0,
    callbacks: {
      onBatchEnd: async (batch, logs) => console.log(`batch ${batch}: ${logs.loss}`),
      onEpochEnd: async (epoch, logs) => {
        console.log(`epoch ${epoch}: ${JSON.stringify(logs)}`);
        await tf.nextFrame();
      },
    },
  });
  model.predict(x.slice([0, 0], [3, 4])).print();
}

void main();
