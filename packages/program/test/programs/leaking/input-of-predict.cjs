const tf = require("@tensorflow/tfjs");

const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [4] })] });
const ask = async (input) => {
  const y = model.predict(tf.tensor2d([input])); // leaks 10, lost
  const values = await y.data();
  y.dispose();
  return values;
};
void (async () => {
  for (let i = 0; i < 10; i++) await ask([1, 2, 3, i]);
})();
