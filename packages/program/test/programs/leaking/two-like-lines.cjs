const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.ones([4, 1]));
const optimizer = tf.train.sgd(0.1);
const memory = [];
for (let i = 0; i < 120; i++) {
  const input = tf.tensor2d([[i, 1, 2, 3]]); // leaks 120, lost
  memory.push(tf.tensor2d([[i, 2, 3, 4]]));
  if (memory.length > 30) memory.shift().dispose();
  optimizer.minimize(() => input.matMul(w).square().mean());
}
