const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const average = tf.variable(tf.ones([4, 1]), false);
const optimizer = tf.train.rmsprop(0.01);
const x = tf.ones([8, 4]);
for (let i = 0; i < 12; i++) {
  optimizer.minimize(() => x.matMul(w).square().mean(), false, [w]);
  tf.tidy(() => average.assign(average.mul(0.9).add(w.mul(0.1))));
}
