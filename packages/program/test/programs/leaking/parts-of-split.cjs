const tf = require("@tensorflow/tfjs");

const x = tf.ones([6, 4]);
for (let i = 0; i < 10; i++) {
  const parts = tf.split(x, 3); // leaks 20, lost
  parts[0].sum().dispose();
  parts[0].dispose();
}
