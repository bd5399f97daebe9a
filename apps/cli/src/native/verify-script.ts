import { restoreUtil } from "@remat/dispatch-hook/backends/node";

/**
 * Run by `node -e`, since it must not share modules with this process. It contains the text of the code that starts
 * tfjs-node. Arguments: the folder, the package.
 *
 * @internal
 */
export const verifyScript: string = `
const { createRequire } = require("node:module");
(${restoreUtil})();
const [app, name] = process.argv.slice(1);
const tf = createRequire(app + "/package.json")(name);
const expect = (what, found, expected) => {
  if (String(found) !== String(expected)) throw new Error(what + " gave " + found + ", expected " + expected);
};
(async () => {
  expect("the backend", tf.getBackend(), "tensorflow");
  const { TF_Version } = tf.backend().binding;
  expect("matMul", tf.matMul(tf.tensor2d([[1, 2], [3, 4]]), tf.tensor2d([[5, 6], [7, 8]])).dataSync(), "19,22,43,50");
  const image = tf.ones([1, 4, 4, 1]);
  const gradient = tf.grad((filter) => tf.conv2d(image, filter, 1, "same").sum())(tf.ones([3, 3, 1, 1]));
  expect("the gradient of a convolution", gradient.dataSync(), "9,12,9,12,16,12,9,12,9");
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 8, activation: "relu", inputShape: [4], kernelInitializer: tf.initializers.heNormal({ seed: 1 }) }),
      tf.layers.dense({ units: 1, kernelInitializer: tf.initializers.heNormal({ seed: 2 }) }),
    ],
  });
  model.compile({ optimizer: tf.train.sgd(0.05), loss: "meanSquaredError" });
  const x = tf.randomNormal([64, 4], 0, 1, "float32", 3);
  const { loss } = (await model.fit(x, x.sum(1, true), { epochs: 10, verbose: 0, shuffle: false })).history;
  if (!(loss[9] < loss[0])) throw new Error("training raised the loss from " + loss[0] + " to " + loss[9]);
  const report = { tensorflow: TF_Version, usesGpu: tf.backend().isUsingGpuDevice === true, loss: [loss[0], loss[9]] };
  process.stdout.write(JSON.stringify(report) + "\\n");
})().catch((error) => {
  process.stderr.write("Error: " + error.message + "\\n");
  process.exitCode = 1;
});
`;
