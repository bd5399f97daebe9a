const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
function* batches() {
  for (let batch = 0; ; batch++) {
    const xs = tf.ones([2, 4]); // leaks 8, lost
    if (batch === 2) throw new Error("the file ends here");
    yield { xs, ys: tf.ones([2, 1]) };
  }
}
// And fitDataset itself: nowhere leaks 8, lost
void (async () => {
  for (let attempt = 0; attempt < 8; attempt++)
    await model.fitDataset(tf.data.generator(batches), { epochs: 1, verbose: 0 }).catch(() => {});
})();
