// Two models that train against each other, each with its own optimizer: `trainOnBatch` of the discriminator, and of
// both with the discriminator frozen.
require("../seeded.cjs");
const tf = require("@tensorflow/tfjs");

const side = 12;
const latent = 8;
const batch = 16;

function makeGenerator() {
  const model = tf.sequential({ name: "generator" });
  model.add(tf.layers.dense({ units: 3 * 3 * 8, activation: "relu", inputShape: [latent] }));
  model.add(tf.layers.reshape({ targetShape: [3, 3, 8] }));
  for (const filters of [8, 4])
    model.add(tf.layers.conv2dTranspose({ filters, kernelSize: 3, strides: 2, padding: "same", activation: "relu" }));
  model.add(tf.layers.conv2d({ filters: 1, kernelSize: 3, padding: "same", activation: "tanh" }));
  return model;
}

function makeDiscriminator() {
  const model = tf.sequential({ name: "discriminator" });
  model.add(tf.layers.conv2d({ filters: 8, kernelSize: 3, padding: "same", strides: 1, inputShape: [side, side, 1] }));
  model.add(tf.layers.leakyReLU());
  model.add(tf.layers.dropout({ rate: 0.3 }));
  model.add(tf.layers.conv2d({ filters: 8, kernelSize: 3, padding: "same", strides: 2 }));
  model.add(tf.layers.leakyReLU());
  model.add(tf.layers.flatten());
  model.add(tf.layers.dense({ units: 1, activation: "sigmoid" }));
  return model;
}

async function main() {
  const discriminator = makeDiscriminator();
  discriminator.compile({ optimizer: tf.train.sgd(0.01), loss: "binaryCrossentropy" });
  const generator = makeGenerator();
  const noise = tf.input({ shape: [latent] });
  discriminator.trainable = false;
  const both = tf.model({ inputs: noise, outputs: discriminator.apply(generator.apply(noise)), name: "combined" });
  both.compile({ optimizer: tf.train.momentum(0.01, 0.5), loss: "binaryCrossentropy" });

  for (let step = 0; step < 3; step++) {
    const [x, y] = tf.tidy(() => {
      const real = tf.randomUniform([batch, side, side, 1], 0.5, 1);
      const fake = generator.predict(tf.randomNormal([batch, latent]));
      return [tf.concat([real, fake]), tf.concat([tf.ones([batch, 1]), tf.zeros([batch, 1])])];
    });
    discriminator.trainable = true;
    const discriminated = await discriminator.trainOnBatch(x, y);
    tf.dispose([x, y]);
    discriminator.trainable = false;
    const z = tf.randomNormal([2 * batch, latent]);
    const trick = tf.ones([2 * batch, 1]);
    const generated = await both.trainOnBatch(z, trick);
    tf.dispose([z, trick]);
    console.log(discriminated, generated);
  }
}

void main();
