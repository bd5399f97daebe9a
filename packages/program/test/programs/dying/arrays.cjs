// A kernel on cpu asks JavaScript for an array that cannot be had.
const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.ones([256, 4]), true, "w");
const x = tf.ones([64, 256]);
const optimizer = tf.train.sgd(0.1);
for (let i = 0; i < 3; i++) {
  const factor = i < 2 ? 2 : 2 ** 32;
  optimizer.minimize(() => {
    const y = x.matMul(w).relu();
    return y.tile([1, factor]).mean(); // fails
  });
}
