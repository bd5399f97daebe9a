const tf = require("@tensorflow/tfjs");

const x = tf.ones([4, 4]);
x.add(1).square().sqrt().sum().dispose();
x.mul(2).neg().exp().mean().dispose();
