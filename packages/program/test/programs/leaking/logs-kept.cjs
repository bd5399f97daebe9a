const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
const history = [];
class Logger extends tf.Callback {
  async onBatchEnd(_batch, logs) {
    history.push(logs.loss.clone()); // leaks 12, held
  }
}
void (async () => {
  const [x, y] = [tf.ones([24, 4]), tf.ones([24, 1])];
  await model.fit(x, y, { epochs: 2, batchSize: 4, verbose: 0, callbacks: new Logger() });
})();
