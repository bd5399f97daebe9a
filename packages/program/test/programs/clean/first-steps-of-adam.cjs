const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const optimizer = tf.train.adam(0.01);
const x = tf.ones([8, 4]);
for (let i = 0; i < 10; i++) optimizer.minimize(() => x.matMul(w).square().mean(), false, [w]);
