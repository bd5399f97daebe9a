const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const x = tf.ones([8, 4]);
for (let i = 0; i < 8; i++) {
  const optimizer = tf.train.momentum(0.01, 0.9); // leaks 16, held
  optimizer.minimize(() => x.matMul(w).mean(), false, [w]); // leaks 8, held
}
