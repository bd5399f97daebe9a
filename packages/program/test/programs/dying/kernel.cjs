// A kernel's allocator has no more memory. TFJS_FROM is a folder where tfjs-node is installed.
const from = require("node:module").createRequire(process.env.TFJS_FROM);
const tf = from("@tensorflow/tfjs-node-gpu");
const w = tf.variable(tf.ones([256, 4]), true, "w");
const x = tf.ones([64, 256]);
tf.train.sgd(0.1).minimize(() => {
  const y = x.matMul(w).relu();
  return y.tile([2 ** 17, 2 ** 17]).mean(); // fails
});
