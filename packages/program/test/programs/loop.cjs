const tf = require("@tensorflow/tfjs");

const x = tf.tensor2d([1, 2, 3, 4], [2, 2]);
const w = tf.variable(tf.tensor2d([1, -1], [2, 1]));
const v = tf.variable(tf.scalar(3));
const sgd = tf.train.sgd(0.1);
const momentum = tf.train.momentum(0.1, 0.9);
for (let i = 0; i < 4; i++) {
  const first = sgd.minimize(() => tf.matMul(x, w).square().mean(), true, [w]);
  const second = momentum.minimize(() => v.square(), true, [v]);
  console.log(first.dataSync()[0], second.dataSync()[0]);
}
// An update of the program's own.
for (let i = 0; i < 3; i++) {
  const { grads } = tf.variableGrads(() => v.sub(1).square());
  v.assign(v.sub(grads[v.name]));
}
// Methods of the class are not the engine's own properties.
const patched = Object.values(tf.engine()).filter((value) => typeof value === "function");
console.log(`methods that are patched: ${patched.length}`);
