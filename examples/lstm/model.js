const sizes = {
  full: { alphabet: 71, characters: 100, units: 256, batch: 64 },
  tiny: { alphabet: 20, characters: 10, units: 16, batch: 4 },
};

/**
 * Predicts the next character: two LSTMs over a piece of text and a probability for each character, the model of
 * tfjs-examples' lstm-text-generation. Characters are one-hot vectors, so that it trains on every backend.
 */
export default function build({ tf, size = "full", batch }) {
  const { alphabet, characters, units, batch: usualBatch } = sizes[size];
  const count = batch ?? usualBatch;
  // The default, an orthogonal matrix, takes tfjs-layers longer to create than the rest of the model.
  const recurrentInitializer = "glorotNormal";
  const model = tf.sequential({
    name: "text_lstm",
    layers: [
      tf.layers.lstm({
        name: "lstm1",
        units,
        recurrentInitializer,
        returnSequences: true,
        inputShape: [characters, alphabet],
      }),
      tf.layers.lstm({ name: "lstm2", units, recurrentInitializer, dropout: 0.2 }),
      tf.layers.dense({ name: "next", units: alphabet, activation: "softmax" }),
    ],
  });
  const text = (shape, seed) =>
    tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt(shape, 0, alphabet, seed), alphabet), "float32"));
  return {
    name: "LSTM",
    model,
    inputs: text([count, characters], 1),
    targets: text([count], 2),
    loss: (probabilities, next) => tf.mean(tf.metrics.categoricalCrossentropy(next, probabilities)),
  };
}
