import "@tensorflow/tfjs-backend-cpu";
import type { Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { prepareStep, traceFakeStep, traceStep } from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));
afterEach(() => tf.disposeVariables());

const seeded = (seed: number) => tf.initializers.glorotNormal({ seed });

function classifier(args: tf.ModelCompileArgs): tf.LayersModel {
  const model = tf.sequential({
    name: "classifier",
    layers: [
      tf.layers.dense({
        units: 8,
        activation: "relu",
        inputShape: [6],
        kernelInitializer: seeded(1),
        kernelRegularizer: tf.regularizers.l2({ l2: 0.1 }),
      }),
      tf.layers.batchNormalization(),
      tf.layers.dense({ units: 3, activation: "softmax", kernelInitializer: seeded(2) }),
    ],
  });
  model.compile(args);
  return model;
}

function twoHeads(args: tf.ModelCompileArgs): tf.LayersModel {
  const input = tf.input({ shape: [6] });
  const body = tf.layers.dense({ units: 5, kernelInitializer: seeded(3) }).apply(input) as tf.SymbolicTensor;
  const outputs = ["a", "b"].map(
    (name, i) =>
      tf.layers
        .dense({ name, units: 2 + i, activation: "softmax", kernelInitializer: seeded(4 + i) })
        .apply(body) as tf.SymbolicTensor,
  );
  const model = tf.model({ inputs: input, outputs, name: "heads" });
  model.compile(args);
  return model;
}

const kernels = (trace: Trace) => Array.from({ length: trace.ops.count }, (_, op) => trace.opName(op));
const weightsOf = (model: tf.LayersModel) => model.getWeights().map((weight) => Array.from(weight.dataSync()));
const float = (labels: tf.Tensor) => tf.cast(labels, "float32");
const classes = (count: number) => float(tf.oneHot(tf.tensor1d([0, 1, 1, 0], "int32"), count));

const cases: readonly (readonly [string, () => tf.LayersModel, () => tf.Tensor | tf.Tensor[], string])[] = [
  [
    "a name for its loss, penalties and metrics",
    () => classifier({ optimizer: "adam", loss: "categoricalCrossentropy", metrics: ["accuracy"] }),
    () => classes(3),
    "adam",
  ],
  [
    "classes by number",
    () => classifier({ optimizer: "sgd", loss: "sparseCategoricalCrossentropy" }),
    () => float(tf.tensor2d([[0], [1], [2], [0]])),
    "sgd",
  ],
  [
    "a loss of its own",
    () =>
      classifier({ optimizer: tf.train.momentum(0.1, 0.8, true), loss: (y, p) => tf.losses.absoluteDifference(y, p) }),
    () => classes(3),
    "momentum",
  ],
  [
    "a loss by output",
    () => twoHeads({ optimizer: "rmsprop", loss: { a: "categoricalCrossentropy", b: "meanSquaredError" } }),
    () => [classes(2), classes(3)],
    "rmsprop",
  ],
  [
    "a list of losses",
    () => twoHeads({ optimizer: "adagrad", loss: ["meanSquaredError", "sparseCategoricalCrossentropy"] }),
    () => [classes(2), float(tf.tensor2d([[0], [1], [2], [0]]))],
    "adagrad",
  ],
];

describe("a model that is compiled with", () => {
  it.each(cases)(
    "%s takes the step of trainOnBatch, and is not changed by a fake one",
    async (_, make, targets, optimizer) => {
      const x = tf.randomUniform([4, 6], 0, 1, "float32", 7);
      const y = targets();
      const stock = make();
      const ours = make();
      const own = ours.optimizer;
      const tensors = tf.memory().numTensors;
      const before = weightsOf(ours);
      const fake = await traceFakeStep(ours, { batch: 4, backend: "cpu" });
      expect(weightsOf(ours)).toEqual(before);
      expect([ours.optimizer, tf.memory().numTensors]).toEqual([own, tensors]);
      expect(fake.header.step?.optimizer).toBe(optimizer);
      expect(fake.header.notes).toEqual([
        "the model is compiled: using its own losses and optimizer, and random targets",
      ]);

      // The batch that a definition brings is taken, and stays.
      const step = await prepareStep({ model: ours, inputs: x, targets: y });
      const losses: number[] = [];
      for (let i = 0; i < 3; i++) step.take({ loss: (value) => losses.push(value.dataSync()[0]) });
      step.dispose();
      const expected: number[] = [];
      for (let i = 0; i < 3; i++) expected.push([await stock.trainOnBatch(x, y)].flat()[0] as number);
      expect(losses).toEqual(expected);
      expect(weightsOf(ours)).toEqual(weightsOf(stock));
      expect(x.isDisposed).toBe(false);

      const real = await traceStep(ours, { batch: 4 });
      expect(kernels(fake)).toEqual(kernels(real));
    },
  );

  it.each([
    [{ loss: "meanSquaredError" }, "adam", /mean squared error, as requested/],
    [{ optimizer: "sgd" }, "sgd", /using its own losses/],
    [{ optimizer: "none" }, "none", /using categorical cross-entropy/],
  ])("adam takes another step where %o is asked for, and %s updates", async (request, optimizer, note) => {
    const model = classifier({ optimizer: "adam", loss: "binaryCrossentropy" });
    const { header } = await traceFakeStep(model, { ...request, batch: 4, backend: "cpu" });
    expect(header.notes?.join()).toMatch(note);
    expect(header.step?.optimizer).toBe(optimizer);
  });

  it("an optimizer of one's own is given sgd, which its notes say", async () => {
    class Mine extends tf.SGDOptimizer {
      static override className = "Mine";
    }
    const model = classifier({ optimizer: new Mine(0.1), loss: "meanSquaredError" });
    const { header } = await traceFakeStep(model, { batch: 4, backend: "cpu" });
    expect(header.notes?.at(-1)).toMatch(/no optimizer given: using SGD/);
  });
});
