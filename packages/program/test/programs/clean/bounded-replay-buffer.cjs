const tf = require("@tensorflow/tfjs");

const buffer = [];
const policy = tf.variable(tf.ones([4, 2]));
const optimizer = tf.train.sgd(0.01);
for (let i = 0; i < 20; i++) {
  buffer.push(tf.randomUniform([1, 4]));
  if (buffer.length > 6) buffer.shift().dispose();
  optimizer.minimize(() => buffer[0].matMul(policy).mean(), false, [policy]);
}
