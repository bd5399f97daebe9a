import * as tf from "@tensorflow/tfjs";

/** A program that trains, some steps of it, and what it has trained in the end. */
export interface Training {
  run(): Promise<void>;
  readonly weights: readonly tf.Variable[];
  dispose(): void;
}

/** Builds all that it trains with: what it makes in `run` it disposes of. */
export type WayToTrain = () => Training;

const seeded = (seed: number) => tf.initializers.glorotNormal({ seed });

const dense = (units: number, seed: number, options: object = {}) =>
  tf.layers.dense({ units, activation: "tanh", kernelInitializer: seeded(seed), ...options });

const variablesOf = (...models: tf.LayersModel[]): tf.Variable[] =>
  models.flatMap(({ weights }) => weights.map((weight) => (weight as unknown as { val: tf.Variable }).val));

const normal = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, "float32", seed);

/** Activations are several times the weights, so that half of stock's peak is to be had. */
function deep(options: tf.ModelCompileArgs, frozen = false): tf.Sequential {
  const model = tf.sequential({
    layers: [
      dense(24, 1, { inputShape: [8], trainable: !frozen }),
      tf.layers.batchNormalization({ trainable: !frozen }),
      dense(24, 2, { trainable: !frozen }),
      dense(24, 3, { kernelRegularizer: tf.regularizers.l2({ l2: 0.01 }) }),
      dense(24, 4),
      dense(24, 5),
      dense(3, 6, { activation: "softmax" }),
    ],
  });
  model.compile(options);
  return model;
}

const labelled = (count: number) => {
  const labels = Int32Array.from({ length: count }, (_, i) => i % 3);
  const y = tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d(labels, "int32"), 3), "float32"));
  return { x: normal([count, 8], 7), y };
};

function compiled(
  compile: tf.ModelCompileArgs,
  count: number,
  run: (model: tf.Sequential, x: tf.Tensor, y: tf.Tensor) => Promise<unknown>,
  frozen = false,
): Training {
  const model = deep(compile, frozen);
  const { x, y } = labelled(count);
  return {
    run: async () => void (await run(model, x, y)),
    weights: variablesOf(model),
    dispose() {
      tf.dispose([x, y]);
      model.optimizer.dispose();
      model.dispose();
    },
  };
}

const classifier = (optimizer: string | tf.Optimizer = "adam"): tf.ModelCompileArgs => ({
  optimizer,
  loss: "categoricalCrossentropy",
  metrics: ["accuracy"],
});

/** A loop of one's own over a model without `compile`. */
function loop(
  optimizers: readonly tf.Optimizer[],
  take: (model: tf.Sequential, loss: () => tf.Scalar, step: number) => void,
  steps = 3,
): Training {
  const model = deep(classifier("sgd"));
  const { x, y } = labelled(96);
  const lossOf = () =>
    tf.losses.softmaxCrossEntropy(y, model.apply(x, { training: true }) as tf.Tensor) as unknown as tf.Scalar;
  return {
    async run() {
      for (let step = 0; step < steps; step++) take(model, lossOf, step);
    },
    weights: variablesOf(model),
    dispose() {
      tf.dispose([x, y]);
      for (const optimizer of optimizers) optimizer.dispose();
      model.optimizer.dispose();
      model.dispose();
    },
  };
}

const trainable = (model: tf.LayersModel): tf.Variable[] => variablesOf(model).filter((variable) => variable.trainable);

/** The sum of all squares, read between the passes and the update as loops do that log it. */
const globalNorm = (grads: tf.NamedTensorMap): tf.Scalar =>
  tf.tidy(() => tf.sqrt(tf.addN(Object.values(grads).map((grad) => tf.sum(tf.square(grad)))))) as tf.Scalar;

export const waysToTrain: Readonly<Record<string, WayToTrain>> = {
  fit: () =>
    compiled(classifier(), 192, (model, x, y) =>
      model.fit(x, y, { batchSize: 96, epochs: 2, shuffle: false, verbose: 0 }),
    ),
  "fit with validation, a last batch that is smaller, and early stopping": () =>
    compiled(classifier("rmsprop"), 150, (model, x, y) =>
      model.fit(x, y, {
        batchSize: 64,
        epochs: 2,
        shuffle: false,
        verbose: 0,
        validationSplit: 0.2,
        callbacks: tf.callbacks.earlyStopping({ monitor: "val_loss", patience: 5 }),
      }),
    ),
  fitDataset: () =>
    compiled(classifier(tf.train.momentum(0.1, 0.9)), 96, (model, x, y) =>
      model.fitDataset(
        tf.data.generator(function* () {
          for (let i = 0; i < 2; i++) yield { xs: x.clone(), ys: y.clone() };
        } as never) as never,
        { epochs: 2, verbose: 0 },
      ),
    ),
  trainOnBatch: () =>
    compiled(classifier("adamax"), 96, async (model, x, y) => {
      for (let i = 0; i < 3; i++) await model.trainOnBatch(x, y);
    }),
  "evaluate between batches": () =>
    compiled(classifier("adagrad"), 96, async (model, x, y) => {
      for (let i = 0; i < 2; i++) {
        await model.trainOnBatch(x, y);
        const scores = model.evaluate(x, y, { batchSize: 48 }) as tf.Scalar[];
        for (const score of scores) await score.data();
        tf.dispose(scores);
      }
    }),
  "transfer learning with frozen layers": () =>
    compiled(
      classifier("adadelta"),
      192,
      (model, x, y) => model.fit(x, y, { batchSize: 96, epochs: 2, shuffle: false, verbose: 0 }),
      true,
    ),
  "a custom loop that logs its loss": () => {
    const optimizer = tf.train.adam(0.01);
    return loop([optimizer], (model, loss) => {
      const value = optimizer.minimize(loss, true, trainable(model)) as tf.Scalar;
      if (value.dataSync()[0] > 1e6) throw new Error("diverged");
      value.dispose();
    });
  },
  "gradient accumulation over two batches": () => {
    const optimizer = tf.train.adam(0.01);
    return loop([optimizer], (model, loss) => {
      const sums: tf.NamedTensorMap = {};
      for (let i = 0; i < 2; i++) {
        const { value, grads } = tf.variableGrads(loss, trainable(model));
        for (const [name, grad] of Object.entries(grads)) {
          const before = sums[name];
          sums[name] = before === undefined ? grad.clone() : tf.add(before, grad);
          before?.dispose();
        }
        tf.dispose([value, grads]);
      }
      optimizer.applyGradients(sums as never);
      tf.dispose(sums);
    });
  },
  "clipping by global norm": () => {
    const optimizer = tf.train.rmsprop(0.01);
    return loop([optimizer], (model, loss) => {
      const { value, grads } = tf.variableGrads(loss, trainable(model));
      const clipped = tf.tidy(() => {
        const scale = tf.minimum(1, tf.div(1, globalNorm(grads)));
        return Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, tf.mul(grad, scale)]));
      });
      optimizer.applyGradients(clipped);
      value.dataSync();
      tf.dispose([value, grads, clipped]);
    });
  },
  "clipping by value": () => {
    const optimizer = tf.train.sgd(0.1);
    return loop([optimizer], (model, loss) => {
      const { value, grads } = optimizer.computeGradients(loss, trainable(model));
      const clipped = tf.tidy(() =>
        Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, tf.clipByValue(grad, -0.1, 0.1)])),
      );
      optimizer.applyGradients(clipped);
      tf.dispose([value, grads, clipped]);
    });
  },
  "a GAN of two models with an optimizer each": () => {
    const generator = tf.sequential({ layers: [dense(24, 11, { inputShape: [4] }), dense(24, 12), dense(8, 13)] });
    const judge = tf.sequential({
      layers: [dense(24, 14, { inputShape: [8] }), dense(24, 15), dense(1, 16, { activation: "linear" })],
    });
    const real = normal([96, 8], 17);
    const noise = normal([96, 4], 18);
    const [ones, zeros] = [tf.ones([96, 1]), tf.zeros([96, 1])];
    const optimizers = [tf.train.adam(0.01, 0.5), tf.train.adam(0.02, 0.5)];
    const judged = (x: tf.Tensor, expected: tf.Tensor) =>
      tf.losses.sigmoidCrossEntropy(expected, judge.apply(x, { training: true }) as tf.Tensor);
    const made = () => generator.apply(noise, { training: true }) as tf.Tensor;
    return {
      async run() {
        for (let step = 0; step < 3; step++) {
          const ofJudge = optimizers[0].minimize(
            () => tf.add(judged(real, ones), judged(made(), zeros)) as tf.Scalar,
            true,
            trainable(judge),
          );
          const ofMaker = optimizers[1].minimize(() => judged(made(), ones) as tf.Scalar, true, trainable(generator));
          await Promise.all([ofJudge?.data(), ofMaker?.data()]);
          tf.dispose([ofJudge as tf.Scalar, ofMaker as tf.Scalar]);
        }
      },
      weights: variablesOf(generator, judge),
      dispose() {
        tf.dispose([real, noise, ones, zeros]);
        for (const optimizer of optimizers) optimizer.dispose();
        generator.dispose();
        judge.dispose();
      },
    };
  },
  "a stateful LSTM with an embedding": () => {
    const model = tf.sequential({
      layers: [
        tf.layers.embedding({
          inputDim: 20,
          outputDim: 8,
          batchInputShape: [16, 6],
          embeddingsInitializer: seeded(21),
        }),
        tf.layers.lstm({
          units: 8,
          stateful: true,
          kernelInitializer: seeded(22),
          recurrentInitializer: seeded(23),
        }),
        dense(1, 24, { activation: "linear" }),
      ],
    });
    model.compile({ optimizer: "adam", loss: "meanSquaredError" });
    const x = tf.tensor2d(
      Array.from({ length: 96 }, (_, i) => (i * 7) % 20),
      [16, 6],
    );
    const y = normal([16, 1], 25);
    return {
      async run() {
        for (let i = 0; i < 3; i++) await model.trainOnBatch(x, y);
      },
      weights: variablesOf(model),
      dispose() {
        tf.dispose([x, y]);
        model.resetStates();
        model.optimizer.dispose();
        model.dispose();
      },
    };
  },
};
