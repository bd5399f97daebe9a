// The system ends the process in the midst of a step.
const tf = require("@tensorflow/tfjs");
const w = tf.variable(tf.ones([8, 4]), true, "w");
const optimizer = tf.train.sgd(0.1);
const kept = [];
for (let i = 0; ; i++) {
  kept.push(tf.ones([1024, 16]));
  optimizer.minimize(() => {
    const y = tf.ones([16, 8]).matMul(w);
    if (i === 9) process.kill(process.pid, "SIGKILL");
    return y.square().mean();
  });
}
