// Trains a small convolutional model on tfjs-node of the folder that is named; prints a digest of losses and weights.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import util from "node:util";

util.isNullOrUndefined ??= (value) => value == null;
util.isArray ??= Array.isArray;
const require = createRequire(`${process.argv[2]}/package.json`);
const load = (name) => {
  try {
    return require(name);
  } catch {
    return undefined;
  }
};
const tf = load("@tensorflow/tfjs-node-gpu") ?? require("@tensorflow/tfjs-node");
const kernelInitializer = tf.initializers.glorotNormal({ seed: 1 });
const convolution = { filters: 16, kernelSize: 3, padding: "same", activation: "relu", kernelInitializer };
const model = tf.sequential({
  layers: [
    tf.layers.conv2d({ inputShape: [48, 48, 3], ...convolution }),
    tf.layers.batchNormalization(),
    tf.layers.conv2d({ strides: 2, ...convolution }),
    tf.layers.globalAveragePooling2d({}),
    tf.layers.dense({ units: 4, activation: "softmax", kernelInitializer }),
  ],
});
model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy" });
const x = tf.randomNormal([8, 48, 48, 3], 0, 1, "float32", 3);
const y = tf.oneHot(tf.tensor1d([0, 1, 2, 3, 0, 1, 2, 3], "int32"), 4);
const digest = createHash("sha256");
for (let step = 0; step < 5; step++) digest.update(String(await model.trainOnBatch(x, y)));
for (const weight of model.getWeights()) digest.update(new Uint8Array(weight.dataSync().buffer));
console.log(JSON.stringify(digest.digest("hex")));
