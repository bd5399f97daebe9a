import * as tf from "@tensorflow/tfjs";

const x = tf.randomNormal([10, 6], 0, 1, "float32", 7);
const y = tf.randomNormal([10, 1], 0, 1, "float32", 8);
const model = tf.sequential();
const kernelInitializer = tf.initializers.glorotNormal({ seed: 3 });
model.add(tf.layers.dense({ units: 8, activation: "relu", inputShape: [6], kernelInitializer }));
model.add(tf.layers.dense({ units: 1, kernelInitializer }));
model.compile({ optimizer: "adam", loss: "meanSquaredError" });
// The last batch of an epoch is smaller.
const { history } = await model.fit(x, y, { epochs: 3, batchSize: 4, shuffle: false, verbose: 0 });
console.log(JSON.stringify(history.loss));
