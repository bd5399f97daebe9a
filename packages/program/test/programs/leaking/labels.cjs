const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 3]));
const optimizer = tf.train.adam(0.01);
const x = tf.ones([2, 4]);
for (let i = 0; i < 10; i++) {
  const indices = tf.tensor1d([0, i % 3], "int32");
  const labels = tf.oneHot(indices, 3); // leaks 10, lost
  optimizer.minimize(() => tf.losses.softmaxCrossEntropy(labels, x.matMul(w)), false, [w]);
  indices.dispose();
}
