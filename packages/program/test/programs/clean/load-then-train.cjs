const tf = require("@tensorflow/tfjs");

const images = [];
for (let i = 0; i < 50; i++) images.push(tf.tidy(() => tf.fill([8, 8, 1], i).div(255)));
const model = tf.sequential({ layers: [tf.layers.flatten({ inputShape: [8, 8, 1] }), tf.layers.dense({ units: 2 })] });
model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
void (async () => {
  const y = tf.zeros([1, 2]);
  for (const image of images) {
    const x = image.expandDims(0);
    await model.trainOnBatch(x, y);
    x.dispose();
  }
})();
