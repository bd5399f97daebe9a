const tf = require("@tensorflow/tfjs");

const x = tf.ones([4, 4]);
for (let i = 0; i < 12; i++) {
  const y = x.add(i);
  y.dispose();
  y.dispose();
}
