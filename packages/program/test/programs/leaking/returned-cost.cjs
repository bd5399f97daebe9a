const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const optimizer = tf.train.sgd(0.01);
const x = tf.ones([8, 4]);
const losses = [];
for (let i = 0; i < 10; i++) losses.push(optimizer.minimize(() => x.matMul(w).square().mean(), true, [w])); // leaks 10, held
