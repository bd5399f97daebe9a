const tf = require("@tensorflow/tfjs");

const generator = tf.sequential({ layers: [tf.layers.dense({ units: 4, inputShape: [2] })] });
const critic = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [4] })] });
const [g, d] = [tf.train.adam(0.01), tf.train.adam(0.01)];
const weightsOf = (model) => model.trainableWeights.map((weight) => weight.val);
for (let i = 0; i < 10; i++)
  tf.tidy(() => {
    const noise = tf.randomNormal([8, 2]);
    d.minimize(() => critic.predict(generator.predict(noise)).mean(), false, weightsOf(critic));
    g.minimize(() => critic.predict(generator.predict(noise)).mean().neg(), false, weightsOf(generator));
  });
