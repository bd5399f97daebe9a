const tf = require("@tensorflow/tfjs");

async function answer(input) {
  const model = tf.sequential();
  model.add(tf.layers.dense({ units: 3, inputShape: [4] })); // leaks 16, held
  const x = tf.tensor2d([input]);
  const y = model.predict(x);
  const values = await y.data();
  tf.dispose([x, y]);
  return values;
}
void (async () => {
  for (let i = 0; i < 8; i++) await answer([1, 2, 3, i]);
})();
