// Text generation by character with an LSTM: trained with `fitDataset`, and sampled after each epoch.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

const text = "the cat sat on the mat and the dog sat on the log and the frog sat on the hog ".repeat(4);
const characters = [...new Set(text)];
const length = 8;
const batchSize = 16;
const codes = [...text].map((character) => characters.indexOf(character));

const oneHot = (values) => tf.oneHot(tf.tensor1d(values, "int32"), characters.length).toFloat();

function* examples() {
  for (let at = 0; at + length < codes.length; at += 3)
    yield tf.tidy(() => ({ xs: oneHot(codes.slice(at, at + length)), ys: oneHot([codes[at + length]]).squeeze([0]) }));
}

const model = tf.sequential();
model.add(tf.layers.lstm({ units: 12, inputShape: [length, characters.length] }));
model.add(tf.layers.dense({ units: characters.length, activation: "softmax" }));
model.compile({ optimizer: tf.train.rmsprop(0.01), loss: "categoricalCrossentropy" });

/** Text that the model writes after a given beginning. */
function write(count) {
  const written = codes.slice(0, length);
  for (let i = 0; i < count; i++) {
    const next = tf.tidy(() => {
      const scores = model.predict(oneHot(written.slice(-length)).expandDims(0)).squeeze([0]);
      return tf.multinomial(tf.log(scores), 1, 7 + i).dataSync()[0];
    });
    written.push(next);
  }
  return written
    .slice(length)
    .map((code) => characters[code])
    .join("");
}

await model.fitDataset(tf.data.generator(examples).batch(batchSize), {
  epochs: 2,
  batchesPerEpoch: 3,
  verbose: 0,
  callbacks: { onEpochEnd: (epoch, { loss }) => console.log(`epoch ${epoch}: ${loss} ${JSON.stringify(write(4))}`) },
});
