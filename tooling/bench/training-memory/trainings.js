/**
 * Usual training methods, each with a model whose memory is mostly activations. `round` trains for some steps,
 * `variables` are the trained variables.
 */
export const trainings = {
  fit: (tf) => {
    const model = convolutional(tf, { optimizer: "adam" });
    const { x, y } = labelledImages(tf, 64);
    const options = { batchSize: 32, epochs: 1, shuffle: false, verbose: 0 };
    return { round: () => model.fit(x, y, options), variables: variablesOf(model) };
  },
  fitDataset: (tf) => {
    const model = convolutional(tf, { optimizer: tf.train.momentum(0.01, 0.9) });
    const { x, y } = labelledImages(tf, 32);
    const batches = tf.data.generator(function* () {
      for (let i = 0; i < 2; i++) yield { xs: x.clone(), ys: y.clone() };
    });
    return { round: () => model.fitDataset(batches, { epochs: 1, verbose: 0 }), variables: variablesOf(model) };
  },
  "custom loop": (tf) => {
    const { model, loss } = withLoss(tf);
    const optimizer = tf.train.adam(0.001);
    return {
      async round() {
        for (let i = 0; i < 2; i++) {
          const value = optimizer.minimize(loss, true, trainable(model));
          await value.data();
          value.dispose();
        }
      },
      variables: variablesOf(model),
    };
  },
  "gradient accumulation over two batches": (tf) => {
    const { model, loss } = withLoss(tf);
    const optimizer = tf.train.adam(0.001);
    return {
      async round() {
        const sums = {};
        for (let i = 0; i < 2; i++) {
          const { value, grads } = tf.variableGrads(loss, trainable(model));
          for (const [name, grad] of Object.entries(grads)) {
            const before = sums[name];
            sums[name] = before === undefined ? grad.clone() : tf.add(before, grad);
            before?.dispose();
          }
          tf.dispose([value, grads]);
        }
        optimizer.applyGradients(sums);
        tf.dispose(sums);
      },
      variables: variablesOf(model),
    };
  },
  GAN: (tf) => {
    const { layers } = tf;
    const deconvolution = (filters, seed, activation = "relu") =>
      layers.conv2dTranspose({
        filters,
        kernelSize: 4,
        strides: 2,
        padding: "same",
        activation,
        kernelInitializer: seeded(tf, seed),
      });
    const generator = tf.sequential({
      layers: [
        layers.dense({ units: 8 * 8 * 32, inputShape: [64], kernelInitializer: seeded(tf, 31) }),
        layers.reshape({ targetShape: [8, 8, 32] }),
        layers.batchNormalization(),
        deconvolution(32, 32),
        layers.batchNormalization(),
        deconvolution(3, 33, "tanh"),
      ],
    });
    const judge = tf.sequential({
      layers: [
        ...[32, 64].map((filters, i) =>
          layers.conv2d({
            ...(i === 0 && { inputShape: [32, 32, 3] }),
            filters,
            kernelSize: 4,
            strides: 2,
            padding: "same",
            activation: "elu",
            kernelInitializer: seeded(tf, 34 + i),
          }),
        ),
        layers.flatten(),
        layers.dense({ units: 1, kernelInitializer: seeded(tf, 36) }),
      ],
    });
    const real = normal(tf, [128, 32, 32, 3], 37);
    const noise = normal(tf, [128, 64], 38);
    const [ones, zeros] = [tf.ones([128, 1]), tf.zeros([128, 1])];
    const judged = (x, expected) => tf.losses.sigmoidCrossEntropy(expected, judge.apply(x, { training: true }));
    const made = () => generator.apply(noise, { training: true });
    const optimizers = [tf.train.adam(0.0002, 0.5), tf.train.adam(0.0002, 0.5)];
    return {
      async round() {
        const losses = [
          optimizers[0].minimize(() => tf.add(judged(real, ones), judged(made(), zeros)), true, trainable(judge)),
          optimizers[1].minimize(() => judged(made(), ones), true, trainable(generator)),
        ];
        for (const loss of losses) await loss.data();
        tf.dispose(losses);
      },
      variables: variablesOf(generator, judge),
    };
  },
  "LSTM with embedding": (tf) => {
    const { layers } = tf;
    const model = tf.sequential({
      layers: [
        layers.embedding({
          inputDim: 1000,
          outputDim: 64,
          inputLength: 40,
          embeddingsInitializer: seeded(tf, 41),
        }),
        layers.lstm({ units: 128, kernelInitializer: seeded(tf, 42), recurrentInitializer: seeded(tf, 43) }),
        layers.dense({ units: 1, kernelInitializer: seeded(tf, 44) }),
      ],
    });
    model.compile({ optimizer: "adam", loss: "meanSquaredError" });
    const tokens = Array.from({ length: 512 * 40 }, (_, i) => (i * 7919) % 1000);
    const x = tf.tensor2d(tokens, [512, 40]);
    const y = normal(tf, [512, 1], 45);
    const options = { batchSize: 256, epochs: 1, shuffle: false, verbose: 0 };
    return { round: () => model.fit(x, y, options), variables: variablesOf(model) };
  },
  "transfer learning with frozen layers": (tf) => {
    const model = convolutional(tf, { optimizer: "adam", frozen: 5 });
    const { x, y } = labelledImages(tf, 64);
    const options = { batchSize: 32, epochs: 1, shuffle: false, verbose: 0 };
    return { round: () => model.fit(x, y, options), variables: variablesOf(model) };
  },
};

const seeded = (tf, seed) => tf.initializers.glorotNormal({ seed });
const normal = (tf, shape, seed) => tf.randomNormal(shape, 0, 1, "float32", seed);
const variablesOf = (...models) => models.flatMap(({ weights }) => weights.map(({ val }) => val));
const trainable = (model) => variablesOf(model).filter((variable) => variable.trainable);

function labelledImages(tf, count) {
  const labels = Int32Array.from({ length: count }, (_, i) => i % 10);
  const y = tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d(labels, "int32"), 10), "float32"));
  return { x: normal(tf, [count, 64, 64, 3], 21), y };
}

/** Six convolutions with batch normalization over images of 64 × 64. The first `frozen` layers do not train. */
function convolutional(tf, { optimizer, frozen = 0 }) {
  const { layers } = tf;
  const model = tf.sequential();
  let at = 0;
  const add = (make, options = {}) => model.add(make({ ...options, trainable: at++ >= frozen }));
  [16, 16, 32, 32, 64, 64].forEach((filters, i) => {
    add(layers.conv2d, {
      ...(i === 0 && { inputShape: [64, 64, 3] }),
      filters,
      kernelSize: 3,
      padding: "same",
      strides: i === 2 || i === 4 ? 2 : 1,
      useBias: false,
      kernelInitializer: seeded(tf, i + 1),
    });
    add(layers.batchNormalization);
    add(layers.activation, { activation: "relu" });
  });
  add(layers.globalAveragePooling2d);
  add(layers.dense, { units: 10, activation: "softmax", kernelInitializer: seeded(tf, 9) });
  model.compile({ optimizer, loss: "categoricalCrossentropy", metrics: ["accuracy"] });
  return model;
}

/** Training without `fit`: the loss of a batch, as needed by `minimize` and `variableGrads`. */
function withLoss(tf) {
  const model = convolutional(tf, { optimizer: "sgd" });
  const { x, y } = labelledImages(tf, 32);
  return { model, loss: () => tf.losses.softmaxCrossEntropy(y, model.apply(x, { training: true })) };
}
