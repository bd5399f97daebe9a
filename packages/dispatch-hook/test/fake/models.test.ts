import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test } from "vitest";
import { fakeMode } from "../../src/fake/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

type KernelLog = { kernel: string; inputs: string[]; outputs: string[] }[];

const describeTensors = (tensors: unknown): string[] => {
  const list = Array.isArray(tensors)
    ? tensors
    : "dataId" in (tensors as object)
      ? [tensors]
      : Object.values(tensors as object);
  return (list as (tf.Tensor | null | undefined)[]).map((tensor) =>
    tensor == null ? "none" : `${tensor.dtype}[${tensor.shape}]`,
  );
};

/** Every registered kernel that runs, with the shapes and dtypes of what goes in and comes out. */
function kernelsOf(run: () => void): KernelLog {
  const log: KernelLog = [];
  const engine = tf.engine();
  const { runKernel } = engine;
  engine.runKernel = function (this: typeof engine, kernel, inputs, attributes) {
    const outputs = runKernel.call(engine, kernel, inputs, attributes);
    log.push({ kernel, inputs: describeTensors(inputs), outputs: describeTensors(outputs) });
    return outputs as never;
  };
  try {
    tf.tidy(run);
  } finally {
    Reflect.deleteProperty(engine, "runKernel");
  }
  return log;
}

/** Trains one step on the model's outputs. */
function trainOn(makeModel: () => tf.LayersModel, inputs: () => tf.Tensor | tf.Tensor[]): () => void {
  return () => {
    const model = makeModel();
    const optimizer = tf.train.sgd(0.1);
    optimizer.minimize(() => {
      const out = model.apply(inputs(), { training: true });
      return [out as tf.Tensor]
        .flat()
        .reduce<tf.Tensor>((sum, y) => tf.add(sum, tf.mean(y)), tf.scalar(0)) as tf.Scalar;
    });
    model.dispose();
  };
}

const sequential =
  (...layers: (() => tf.layers.Layer)[]) =>
  (): tf.LayersModel => {
    const model = tf.sequential();
    for (const layer of layers) model.add(layer());
    return model;
  };

const image = { inputShape: [8, 8, 3] };
const images = (): tf.Tensor => tf.ones([2, 8, 8, 3]);
const sequence = { inputShape: [5, 4] };
const sequences = (): tf.Tensor => tf.ones([2, 5, 4]);
const { layers } = tf;

const models: [name: string, makeModel: () => tf.LayersModel, inputs: () => tf.Tensor | tf.Tensor[]][] = [
  [
    "dense layers",
    sequential(
      () => layers.dense({ units: 5, activation: "relu", inputShape: [4] }),
      () => layers.dense({ units: 3, activation: "softmax" }),
    ),
    () => tf.ones([2, 4]),
  ],
  [
    "a regularized network",
    sequential(
      () =>
        layers.dense({
          units: 5,
          inputShape: [4],
          kernelRegularizer: tf.regularizers.l1l2(),
          kernelConstraint: tf.constraints.maxNorm({ maxValue: 1, axis: 0 }),
        }),
      () => layers.gaussianNoise({ stddev: 0.1 }),
      () => layers.leakyReLU(),
      () => layers.dropout({ rate: 0.3 }),
      () => layers.layerNormalization(),
      () => layers.prelu(),
    ),
    () => tf.ones([2, 4]),
  ],
  [
    "convolution and batch normalization",
    sequential(
      () => layers.conv2d({ filters: 4, kernelSize: 3, padding: "same", activation: "relu", ...image }),
      () => layers.batchNormalization(),
      () => layers.maxPooling2d({}),
      () => layers.conv2d({ filters: 4, kernelSize: 1, strides: 2, activation: "elu" }),
      () => layers.globalAveragePooling2d({}),
      () => layers.dense({ units: 2, activation: "sigmoid" }),
    ),
    images,
  ],
  [
    "depthwise and separable convolution",
    sequential(
      () => layers.depthwiseConv2d({ kernelSize: 3, depthMultiplier: 2, activation: "relu6", ...image }),
      () => layers.separableConv2d({ filters: 4, kernelSize: 3, padding: "same" }),
      () => layers.averagePooling2d({}),
      () => layers.flatten(),
    ),
    images,
  ],
  [
    "upsampling, transposed convolution, padding and cropping",
    sequential(
      () => layers.upSampling2d({ size: [2, 2], ...image }),
      () => layers.conv2dTranspose({ filters: 2, kernelSize: 3, strides: 2, padding: "same" }),
      () => layers.zeroPadding2d({ padding: 1 }),
      () =>
        layers.cropping2D({
          cropping: [
            [1, 1],
            [2, 0],
          ],
        }),
    ),
    images,
  ],
  [
    "one- and three-dimensional convolution",
    sequential(
      () => layers.conv1d({ filters: 3, kernelSize: 2, padding: "same", ...sequence }),
      () => layers.maxPooling1d({}),
      () => layers.globalMaxPooling1d({}),
    ),
    sequences,
  ],
  [
    "volumes",
    sequential(
      () => layers.conv3d({ filters: 2, kernelSize: 2, inputShape: [4, 4, 4, 1] }),
      () => layers.averagePooling3d({ poolSize: 2, strides: 1 }),
      () => layers.maxPooling3d({ poolSize: 2 }),
    ),
    () => tf.ones([1, 4, 4, 4, 1]),
  ],
  [
    "an LSTM",
    sequential(
      () => layers.lstm({ units: 3, returnSequences: true, recurrentInitializer: "glorotUniform", ...sequence }),
      () => layers.lstm({ units: 2, recurrentInitializer: "zeros" }),
    ),
    sequences,
  ],
  [
    "a GRU with recurrent dropout",
    sequential(() =>
      layers.gru({ units: 3, dropout: 0.2, recurrentDropout: 0.2, recurrentInitializer: "zeros", ...sequence }),
    ),
    sequences,
  ],
  [
    "a bidirectional simple RNN",
    sequential(() =>
      layers.bidirectional({
        layer: layers.simpleRNN({ units: 3, recurrentInitializer: "zeros" }) as tf.RNN,
        mergeMode: "concat",
        ...sequence,
      }),
    ),
    sequences,
  ],
  [
    "time-distributed layers over a ConvLSTM",
    sequential(
      () =>
        layers.convLstm2d({
          filters: 2,
          kernelSize: 2,
          returnSequences: true,
          recurrentInitializer: "zeros",
          inputShape: [3, 4, 4, 1],
        }),
      () => layers.timeDistributed({ layer: layers.flatten() }),
    ),
    () => tf.ones([1, 3, 4, 4, 1]),
  ],
  [
    "an embedding with a mask",
    sequential(
      () => layers.embedding({ inputDim: 7, outputDim: 4, maskZero: true, inputLength: 5 }),
      () => layers.lstm({ units: 2, recurrentInitializer: "zeros" }),
    ),
    () => tf.ones([2, 5], "int32"),
  ],
  [
    "merging, permuting and repeating",
    () => {
      const a = tf.input({ shape: [4] });
      const b = layers.dense({ units: 4 }).apply(a) as tf.SymbolicTensor;
      const merged = ["add", "multiply", "average", "maximum", "minimum", "concatenate"].map(
        (name) => layers[name as "add"]().apply([a, b]) as tf.SymbolicTensor,
      );
      const repeated = layers
        .permute({ dims: [2, 1] })
        .apply(layers.repeatVector({ n: 3 }).apply(b)) as tf.SymbolicTensor;
      return tf.model({
        inputs: a,
        outputs: [...merged, repeated, layers.dot({ axes: 1 }).apply([a, b]) as tf.SymbolicTensor],
      });
    },
    () => tf.ones([2, 4]),
  ],
];

test.each(models)(
  "the kernels of a training step of %s are those of the cpu backend, call by call",
  (_, makeModel, inputs) => {
    const run = trainOn(makeModel, inputs);
    const real = kernelsOf(run);
    expect(real.length).toBeGreaterThan(10);
    expect(fakeMode(() => kernelsOf(run))).toEqual(real);
  },
);

const causalMask = (n: number): tf.Tensor =>
  tf.linalg
    .bandPart(tf.ones([n, n]), -1, 0)
    .sub(1)
    .mul(1e9);

/** Attention of two heads, with layer normalization and dropout. */
function attention(): void {
  const x = tf.variable(tf.ones<tf.Rank.R3>([2, 5, 8]));
  const weight = tf.variable(tf.ones<tf.Rank.R2>([8, 24]));
  const { grads } = tf.variableGrads(() => {
    const { mean, variance } = tf.moments(x, -1, true);
    const h = x.sub(mean).mul(variance.add(1e-5).rsqrt());
    const heads = tf
      .matMul(h.reshape([10, 8]) as tf.Tensor2D, weight as unknown as tf.Tensor2D)
      .reshape([2, 5, 3, 2, 4]);
    const [q, k, v] = tf.unstack(heads.transpose([2, 0, 3, 1, 4]));
    const scores = tf.matMul(q, k, false, true).div(2).add(causalMask(5));
    const out = tf
      .matMul(tf.dropout(tf.softmax(scores), 0.1), v)
      .transpose([0, 2, 1, 3])
      .reshape([2, 5, 8]);
    return tf.logSumExp(out.add(x).gather([0, 1], 1).cumsum(2)).mean() as tf.Scalar;
  });
  tf.dispose([grads, x, weight] as tf.TensorContainer);
}

/** The same forward pass written with einsum, for which tfjs has no gradient. */
function einsumAttention(): void {
  const x = tf.ones([2, 5, 8]);
  const [q, k, v] = [1, 2, 3].map(() => tf.einsum("btc,chd->bthd", x, tf.ones([8, 2, 4])));
  const scores = tf.softmax(tf.einsum("bqhd,bkhd->bhqk", q, k).add(causalMask(5)));
  tf.einsum("bqhd,hdc->bqc", tf.einsum("bhqk,bkhd->bqhd", scores, v), tf.ones([2, 4, 8]));
}

const labels = (): tf.Tensor2D => tf.oneHot(tf.tensor1d([0, 1], "int32"), 3).toFloat() as tf.Tensor2D;

/** The gradient of a loss with regard to its predictions. */
const lossOf = (loss: (y: tf.Tensor2D) => tf.Tensor) => (): void => {
  const y = tf.variable(tf.fill([2, 3], 0.5)) as unknown as tf.Variable<tf.Rank.R2>;
  tf.dispose(tf.variableGrads(() => loss(y).mean() as tf.Scalar).grads);
  y.dispose();
};

const functions: [name: string, run: () => void][] = [
  ["attention", attention],
  ["attention by einsum", einsumAttention],
  ["softmax cross entropy", lossOf((y) => tf.losses.softmaxCrossEntropy(labels(), y))],
  ["sigmoid cross entropy", lossOf((y) => tf.losses.sigmoidCrossEntropy(labels(), y))],
  ["mean squared error", lossOf((y) => tf.losses.meanSquaredError(labels(), y))],
  ["absolute difference", lossOf((y) => tf.losses.absoluteDifference(labels(), y))],
  ["Huber loss", lossOf((y) => tf.losses.huberLoss(labels(), y))],
  ["log loss", lossOf((y) => tf.losses.logLoss(labels(), y))],
  ["hinge loss", lossOf((y) => tf.losses.hingeLoss(labels(), y))],
  ["cosine distance", lossOf((y) => tf.losses.cosineDistance(labels(), y, 1))],
  ["weighted losses", lossOf((y) => tf.losses.computeWeightedLoss(y, tf.ones([2, 1])))],
  ["categorical crossentropy of layers", lossOf((y) => tf.metrics.categoricalCrossentropy(labels(), y))],
  [
    "resizing and cropping",
    lossOf((y) =>
      tf.image.resizeBilinear(tf.image.resizeNearestNeighbor(y.reshape([1, 2, 3, 1]) as tf.Tensor4D, [4, 4]), [3, 3]),
    ),
  ],
  [
    "splitting, stacking and slicing",
    lossOf((y) =>
      tf
        .concat(
          [
            ...tf.split(y, 3, 1),
            tf.stack(tf.unstack(y)).slice([0, 1], [2, 2]),
            y.pad([
              [0, 0],
              [1, 1],
            ]),
          ],
          1,
        )
        .tile([2, 1]),
    ),
  ],
  [
    "where, gather and sort",
    lossOf((y) => tf.where(labels().greater(0), tf.gather(y, tf.tensor1d([1, 0], "int32")), y.square()).max(1)),
  ],
  ["a norm", lossOf((y) => tf.norm(y))],
  ["a decomposition", () => void tf.linalg.qr(tf.ones([3, 2]))],
  ["a Fourier transform", () => void tf.spectral.irfft(tf.spectral.rfft(tf.ones([2, 8])))],
];

test.each(functions)("the kernels of %s, forward and backward, are those of the cpu backend", (_, run) => {
  const real = kernelsOf(run);
  expect(fakeMode(() => kernelsOf(run))).toEqual(real);
});

const optimizers: [name: string, make: () => tf.Optimizer][] = [
  ["sgd", () => tf.train.sgd(0.1)],
  ["momentum", () => tf.train.momentum(0.1, 0.9, true)],
  ["adagrad", () => tf.train.adagrad(0.1)],
  ["adadelta", () => tf.train.adadelta()],
  ["adam", () => tf.train.adam()],
  ["adamax", () => tf.train.adamax()],
  ["rmsprop", () => tf.train.rmsprop(0.1, 0.9, 0.1, undefined, true)],
];

test.each(optimizers)("the kernels of two steps of %s are those of the cpu backend", (_, make) => {
  const run = (): void => {
    const weight = tf.variable(tf.ones([4, 3]));
    const optimizer = make();
    for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.sum(tf.square(weight)));
    optimizer.dispose();
    weight.dispose();
  };
  const real = kernelsOf(run);
  expect(fakeMode(() => kernelsOf(run))).toEqual(real);
});
