// WebAssembly's memory cannot grow. TFJS_FROM is a folder where this backend is installed.
const from = require("node:module").createRequire(process.env.TFJS_FROM);
const tf = from("@tensorflow/tfjs-core");
from("@tensorflow/tfjs-backend-wasm");
tf.setBackend("wasm").then(() => {
  const w = tf.variable(tf.ones([256, 4]), true, "w");
  const x = tf.ones([64, 256]);
  tf.train.sgd(0.1).minimize(() => {
    const y = tf.matMul(x, w);
    const wide = tf.tile(y, [2 ** 11, 2 ** 10]); // fails
    return tf.mean(wide);
  });
});
