const tf = require("@tensorflow/tfjs");

let all = tf.zeros([1, 64]);
for (let i = 0; i < 12; i++) {
  const longer = tf.tidy(() => tf.concat([all, tf.ones([1, 64])])); // leaks 1
  all.dispose();
  all = longer;
}
