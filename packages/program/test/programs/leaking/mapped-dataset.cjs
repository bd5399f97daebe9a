const tf = require("@tensorflow/tfjs");

function* samples() {
  for (let i = 0; i < 64; i++) yield { image: Array.from({ length: 12 }, () => i / 64), label: i % 3 };
}
const dataset = tf.data
  .generator(samples)
  .mapAsync(async ({ image, label }) => {
    const raw = tf.tensor1d(image); // leaks 384, lost
    const xs = raw.div(2);
    return { xs, ys: tf.tidy(() => tf.oneHot(tf.scalar(label, "int32"), 3).toFloat()) };
  })
  .batch(8)
  .prefetch(2);
const model = tf.sequential({ layers: [tf.layers.dense({ units: 3, inputShape: [12], activation: "softmax" })] });
model.compile({ optimizer: "adam", loss: "categoricalCrossentropy" });
void model.fitDataset(dataset, { epochs: 6, verbose: 0 });
