// JavaScript's heap is at its limit in the midst of a step.
const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.ones([8, 4]), true, "w");
const x = tf.ones([16, 8]);
const logs = [];
tf.train.sgd(0.1).minimize(() => {
  const y = x.matMul(w);
  const z = y.relu(); // the last op
  for (;;) logs.push([{}, z]);
});
