// Trains for a few steps, and prints what has come of it: to the last bit.
const { createHash } = require("node:crypto");
const tf = require("@tensorflow/tfjs");

const x = tf.tensor2d([1, 2, 3, 4, 5, 6, 7, 8], [4, 2]);
const w = tf.variable(tf.tensor2d([1, -1, 2, 0.5], [2, 2]));
const b = tf.variable(tf.tensor1d([0.5, 0.25]));
const momentum = tf.train.momentum(0.01, 0.9);
for (let step = 0; step < 6; step++) {
  const loss = momentum.minimize(() => tf.mean(tf.square(tf.tanh(tf.add(tf.matMul(x, w), b)))), true);
  console.log(step, loss.dataSync()[0]);
  loss.dispose();
}
const { grads } = tf.variableGrads(() => tf.mean(tf.square(tf.matMul(x, w))), [w]);
w.assign(tf.sub(w, tf.mul(grads[w.name], 0.01)));
console.error("trained");
process.on("exit", () => {
  const hash = createHash("sha256");
  for (const each of [w, b]) hash.update(Buffer.from(each.dataSync().buffer));
  console.log(hash.digest("hex"));
});
process.exitCode = 3;
