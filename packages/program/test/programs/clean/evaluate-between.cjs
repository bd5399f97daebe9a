const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
model.compile({ optimizer: "adam", loss: "meanSquaredError" });
void (async () => {
  const [x, y] = [tf.ones([8, 4]), tf.ones([8, 1])];
  for (let epoch = 0; epoch < 8; epoch++) {
    await model.fit(x, y, { epochs: 1, batchSize: 4, verbose: 0 });
    const loss = model.evaluate(x, y);
    await loss.data();
    loss.dispose();
  }
})();
