// A kernel's allocator has no more memory. TFJS_FROM is a file beside which tfjs-node or tfjs-node-gpu is installed.
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const packages = join(process.env.TFJS_FROM, "../node_modules/@tensorflow");
const tf = require(
  join(
    packages,
    ["tfjs-node-gpu", "tfjs-node"].find((name) => existsSync(join(packages, name))),
  ),
);
const w = tf.variable(tf.ones([256, 4]), true, "w");
const x = tf.ones([64, 256]);
tf.train.sgd(0.1).minimize(() => {
  const y = x.matMul(w).relu();
  return y.tile([2 ** 17, 2 ** 17]).mean(); // fails
});
