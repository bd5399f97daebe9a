const tf = require("@tensorflow/tfjs");

const w = tf.ones([4, 4]);
async function step(i) {
  const x = tf.tensor2d([[i, 1, 2, 3]]);
  const y = x.matMul(w); // leaks 10, lost
  const [first] = await y.data();
  const z = tf.tidy(() => y.mul(first));
  await z.data();
  tf.dispose([x, z]);
}
void (async () => {
  for (let i = 0; i < 10; i++) await step(i);
})();
