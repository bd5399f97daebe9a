// No memory for a large batch, and then a smaller one.
const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.ones([8, 4]), true, "w");
const optimizer = tf.train.sgd(0.1);
for (const width of [2 ** 40, 2, 2, 2])
  try {
    optimizer.minimize(() => w.tile([1, width]).mean());
  } catch (error) {
    console.log(error.message);
  }
