const tf = require("@tensorflow/tfjs");

class Trainer {
  costs = [];
  w = tf.variable(tf.ones([16, 1]));
  optimizer = tf.train.adam(0.01);

  step(x, y) {
    const cost = this.optimizer.minimize(() => tf.losses.meanSquaredError(y, x.matMul(this.w)), true); // leaks 40, held
    this.costs.push(cost);
  }
}
const trainer = new Trainer();
for (let i = 0; i < 40; i++) {
  const [x, y] = tf.tidy(() => [tf.ones([8, 16]).mul(i), tf.ones([8, 1])]);
  trainer.step(x, y);
  tf.dispose([x, y]);
}
