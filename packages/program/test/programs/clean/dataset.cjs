const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
const rows = Array.from({ length: 24 }, (_, i) => ({ xs: [i, 1, 2, 3], ys: [i] }));
void (async () => {
  await model.fitDataset(tf.data.array(rows).batch(4), { epochs: 3, verbose: 0 });
})();
