const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
void (async () => {
  const [x, y] = [tf.ones([16, 4]), tf.ones([16, 1])];
  const callbacks = tf.callbacks.earlyStopping({ monitor: "loss", patience: 10 });
  await model.fit(x, y, { epochs: 4, batchSize: 4, verbose: 0, callbacks });
})();
