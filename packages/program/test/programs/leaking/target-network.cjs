const tf = require("@tensorflow/tfjs");

const make = () => {
  const model = tf.sequential();
  model.add(tf.layers.dense({ units: 5, inputShape: [4], activation: "relu" })); // leaks 40, held
  model.add(tf.layers.dense({ units: 2 })); // leaks 40, held
  return model;
};
const online = make();
let target = make();
const optimizer = tf.train.adam(0.01);
for (let step = 0; step < 180; step++) {
  tf.tidy(() => {
    const next = target.predict(tf.ones([8, 4])).max(1);
    const x = tf.ones([8, 4]);
    optimizer.minimize(() => online.apply(x).max(1).sub(next).square().mean());
  });
  if (step % 10 === 9) {
    target = make();
    target.setWeights(online.getWeights());
  }
}
