const tf = require("@tensorflow/tfjs");

const buffer = [];
const policy = tf.variable(tf.ones([4, 2]));
const optimizer = tf.train.sgd(0.01);
for (let i = 0; i < 12; i++) {
  buffer.push(tf.randomUniform([1, 4])); // leaks 12, held
  const state = buffer[i >> 1];
  optimizer.minimize(() => state.matMul(policy).mean(), false, [policy]);
}
