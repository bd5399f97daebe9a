import "../seeded.cjs";
import { parentPort, workerData } from "node:worker_threads";
import * as tf from "@tensorflow/tfjs";

const model = tf.sequential();
model.add(tf.layers.conv1d({ filters: 8, kernelSize: 5, activation: "relu", inputShape: [64, 2], padding: "same" }));
model.add(tf.layers.conv1d({ filters: 8, kernelSize: 5, activation: "relu", padding: "same" }));
model.add(tf.layers.globalAveragePooling1d());
model.add(tf.layers.dense({ units: 1 }));
model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
await model.fit(tf.randomNormal([32, 64, 2]), tf.randomNormal([32, 1]), {
  epochs: workerData.epochs,
  batchSize: 16,
  verbose: 0,
  callbacks: { onEpochEnd: (epoch, { loss }) => parentPort.postMessage({ epoch, loss }) },
});
