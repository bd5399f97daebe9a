const tf = require("@tensorflow/tfjs");

const x = tf.ones([8, 4]);
for (let i = 0; i < 10; i++) {
  const initial = tf.ones([4, 1]);
  const w = tf.variable(initial); // leaks 10, held
  initial.dispose();
  tf.tidy(() => x.matMul(w).mean().dataSync());
}
