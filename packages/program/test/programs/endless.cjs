const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.tensor2d([1, -1], [2, 1]));
const sgd = tf.train.sgd(0.1);
const x = tf.ones([4, 2]);
void (async () => {
  for (;;) {
    sgd.minimize(() => tf.matMul(x, w).square().mean());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
})();
