const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.zeros([3, 1]));
const x = tf.ones([5, 3]);
for (let session = 0; session < 10; session++) {
  const optimizer = tf.train.momentum(0.001, 0.9); // leaks 10, held
  optimizer.minimize(() => x.matMul(w).square().mean());
  optimizer.dispose();
}
