// Dates in words to dates in figures, from sequence to sequence: a decoder with attention starts from the last state of
// an encoder.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

const letters = 14;
const inputLength = 6;
const outputLength = 4;
const units = 8;
const pairs = 24;

const sequences = (length) =>
  Array.from({ length: pairs }, () => Array.from({ length }, () => Math.floor(Math.random() * letters)));
const words = tf.tensor2d(sequences(inputLength), [pairs, inputLength]);
const figures = tf.tensor2d(sequences(outputLength), [pairs, outputLength], "int32");
const shifted = figures
  .toFloat()
  .pad([
    [0, 0],
    [1, 0],
  ])
  .slice([0, 0], [pairs, outputLength]);
const targets = tf.oneHot(figures, letters);

const encoderInput = tf.input({ shape: [inputLength] });
const encoded = tf.layers
  .lstm({ units, returnSequences: true })
  .apply(tf.layers.embedding({ inputDim: letters, outputDim: units, inputLength }).apply(encoderInput));
const last = tf.layers.lstm({ units }).apply(encoded);

const decoderInput = tf.input({ shape: [outputLength] });
const decoded = tf.layers
  .lstm({ units, returnSequences: true })
  .apply(tf.layers.embedding({ inputDim: letters, outputDim: units, inputLength: outputLength }).apply(decoderInput), {
    initialState: [last, last],
  });

const attention = tf.layers
  .activation({ activation: "softmax" })
  .apply(tf.layers.dot({ axes: [2, 2] }).apply([decoded, encoded]));
const context = tf.layers.dot({ axes: [2, 1] }).apply([attention, encoded]);
const together = tf.layers.concatenate().apply([context, decoded]);
const hidden = tf.layers.timeDistributed({ layer: tf.layers.dense({ units, activation: "tanh" }) }).apply(together);
const output = tf.layers
  .timeDistributed({ layer: tf.layers.dense({ units: letters, activation: "softmax" }) })
  .apply(hidden);

const model = tf.model({ inputs: [encoderInput, decoderInput], outputs: output });
model.compile({ optimizer: tf.train.momentum(0.05, 0.9), loss: "categoricalCrossentropy" });
const { history } = await model.fit([words, shifted], targets, { epochs: 2, batchSize: 12, verbose: 0 });
console.log(JSON.stringify(history.loss));
