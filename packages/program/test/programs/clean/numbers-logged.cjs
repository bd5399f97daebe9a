const tf = require("@tensorflow/tfjs");

const log = [];
const x = tf.ones([16, 16]);
for (let i = 0; i < 16; i++) {
  const scaled = x.mul(i);
  log.push(Math.max(...scaled.dataSync()));
  scaled.dispose();
}
