const tf = require("@tensorflow/tfjs");

const [wx, wh] = [tf.variable(tf.ones([2, 4])), tf.variable(tf.ones([4, 4]))];
let state = tf.zeros([1, 4]);
for (let i = 0; i < 12; i++) {
  const before = state;
  state = tf.tidy(() =>
    tf
      .tensor2d([[i, 1]])
      .matMul(wx)
      .add(before.matMul(wh))
      .tanh(),
  );
  before.dispose();
}
