const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [3] })] });
model.compile({ optimizer: "sgd", loss: "meanSquaredError", metrics: ["mae"] });
void (async () => {
  const [x, y] = [tf.ones([32, 3]), tf.ones([32, 1])];
  const log = [];
  const onEpochEnd = () => {
    const [loss] = model.evaluate(x, y, { batchSize: 32 }); // leaks 16, lost
    log.push(loss.dataSync()[0]);
  };
  await model.fit(x, y, { epochs: 8, batchSize: 4, verbose: 0, callbacks: { onEpochEnd } });
})();
