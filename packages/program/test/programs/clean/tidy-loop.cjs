const tf = require("@tensorflow/tfjs");

const x = tf.ones([8, 4]);
for (let i = 0; i < 20; i++) tf.tidy(() => x.mul(i).add(1).relu().sum().dataSync());
