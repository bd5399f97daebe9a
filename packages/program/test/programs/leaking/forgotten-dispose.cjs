const tf = require("@tensorflow/tfjs");

const x = tf.ones([8, 4]);
for (let i = 0; i < 10; i++) {
  const doubled = x.mul(2); // leaks 10, lost
  const sum = doubled.sum();
  sum.dataSync();
  sum.dispose();
}
