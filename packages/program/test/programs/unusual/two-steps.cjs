const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4]));
const optimizer = tf.train.sgd(0.1);
for (let i = 0; i < 2; i++) {
  optimizer.minimize(() => w.square().mean(), false, [w]);
  tf.ones([2]);
}
