const sizes = {
  full: { vocabulary: 20_000, words: 200, units: 128, batch: 32 },
  tiny: { vocabulary: 100, words: 12, units: 16, batch: 4 },
};

/** Is a review positive? An embedding, an LSTM over the words, and one probability: the classifier of Keras' IMDB example. */
export default function build({ tf, size = "full", batch }) {
  const { vocabulary, words, units, batch: usualBatch } = sizes[size];
  const count = batch ?? usualBatch;
  const model = tf.sequential({
    name: "lstm_classifier",
    layers: [
      tf.layers.embedding({ name: "embedding", inputDim: vocabulary, outputDim: units, inputLength: words }),
      // The default, an orthogonal matrix, takes tfjs-layers longer to make than the rest of the model.
      tf.layers.lstm({ name: "lstm", units, dropout: 0.2, recurrentInitializer: "glorotNormal" }),
      tf.layers.dense({ name: "score", units: 1, activation: "sigmoid" }),
    ],
  });
  return {
    name: "LSTM",
    model,
    inputs: tf.randomUniformInt([count, words], 0, vocabulary, 1),
    targets: tf.tidy(() => tf.cast(tf.randomUniformInt([count, 1], 0, 2, 2), "float32")),
    loss: (probability, truth) => tf.mean(tf.metrics.binaryCrossentropy(truth, probability)),
  };
}
