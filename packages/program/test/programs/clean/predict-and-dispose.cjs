const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [4] })] });
void (async () => {
  for (let i = 0; i < 10; i++) {
    const x = tf.tensor2d([[1, 2, 3, i]]);
    const y = model.predict(x);
    await y.data();
    tf.dispose([x, y]);
  }
})();
