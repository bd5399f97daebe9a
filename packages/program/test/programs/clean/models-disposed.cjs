const tf = require("@tensorflow/tfjs");

void (async () => {
  for (let fold = 0; fold < 8; fold++) {
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [4] })] });
    const x = tf.ones([1, 4]);
    const y = model.predict(x);
    await y.data();
    tf.dispose([x, y]);
    model.dispose();
  }
})();
