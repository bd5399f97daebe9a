const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const optimizer = tf.train.sgd(0.01);
const x = tf.ones([8, 4]);
for (let epoch = 0; epoch < 5; epoch++) {
  const losses = [];
  for (let i = 0; i < 4; i++) losses.push(optimizer.minimize(() => x.matMul(w).square().mean(), true, [w]));
  const mean = tf.tidy(() => tf.stack(losses).mean().dataSync()[0]);
  tf.dispose(losses);
  if (Number.isNaN(mean)) throw new Error("diverged");
}
