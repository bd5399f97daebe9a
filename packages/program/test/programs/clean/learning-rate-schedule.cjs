const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const x = tf.ones([8, 4]);
const optimizer = tf.train.sgd(0.1);
for (let i = 0; i < 12; i++) {
  optimizer.setLearningRate(0.1 / (1 + i));
  const loss = optimizer.minimize(() => x.matMul(w).square().mean(), true, [w]);
  loss.dataSync();
  loss.dispose();
}
