const tf = require("@tensorflow/tfjs");

const [wx, wh] = [tf.variable(tf.ones([2, 4])), tf.variable(tf.ones([4, 4]))];
let state = tf.zeros([1, 4]);
for (let i = 0; i < 12; i++) {
  const input = tf.tensor2d([[i, 1]]);
  state = tf.tidy(() => input.matMul(wx).add(state.matMul(wh)).tanh()); // leaks 12, lost
  input.dispose();
}
