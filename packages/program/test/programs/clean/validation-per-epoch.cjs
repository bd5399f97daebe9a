const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
model.compile({ optimizer: "adam", loss: "meanSquaredError", metrics: ["mse"] });
void (async () => {
  const [x, y] = [tf.ones([16, 4]), tf.ones([16, 1])];
  await model.fit(x, y, { epochs: 4, batchSize: 4, validationSplit: 0.25, verbose: 0 });
})();
