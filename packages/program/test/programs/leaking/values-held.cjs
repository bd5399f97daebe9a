const tf = require("@tensorflow/tfjs");

const rows = [];
const x = tf.ones([16, 16]);
for (let i = 0; i < 16; i++) {
  const scaled = x.mul(i);
  rows.push(scaled.dataSync()); // leaks values
  scaled.dispose();
}
