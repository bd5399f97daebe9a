// The two steps of a GAN, each of which runs both models and updates one.
const tf = require("@tensorflow/tfjs");

const generator = tf.sequential({ name: "generator", layers: [tf.layers.dense({ units: 4, inputShape: [2] })] });
const discriminator = tf.sequential({
  name: "discriminator",
  layers: [tf.layers.dense({ units: 3, activation: "relu", inputShape: [4] }), tf.layers.dense({ units: 1 })],
});
const ofDiscriminator = tf.train.adam(0.01);
const ofGenerator = tf.train.adam(0.01);
const variables = (model) => model.trainableWeights.map(({ val }) => val);
const noise = tf.randomNormal([5, 2]);
const judged = () => discriminator.apply(generator.apply(noise, { training: true }), { training: true });
for (let i = 0; i < 4; i++) {
  ofDiscriminator.minimize(() => judged().square().mean(), false, variables(discriminator));
  ofGenerator.minimize(() => judged().sub(1).square().mean(), false, variables(generator));
}
