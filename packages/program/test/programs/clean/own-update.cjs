const tf = require("@tensorflow/tfjs");

const w = tf.variable(tf.ones([4, 1]));
const x = tf.ones([8, 4]);
for (let i = 0; i < 12; i++)
  tf.tidy(() => {
    const { grads } = tf.variableGrads(() => x.matMul(w).mean());
    w.assign(w.sub(grads[w.name].mul(0.1)));
  });
