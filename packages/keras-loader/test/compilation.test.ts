import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { optimizerOf } from "../src/compilation/optimizers.js";
import { loadKerasModel } from "../src/index.js";
import { smallModel } from "./topologies.js";

interface Packed {
  readonly shape: number[];
  readonly dtype: "float32";
  readonly values: number[];
}

/**
 * Keras's results for a target and an output, and for a weight and its gradients over several steps, written by
 * tooling/keras-oracle.
 */
interface Answers {
  readonly losses: Readonly<
    Record<string, { loss: unknown; target: Packed; output: Packed; value: number; gradient: Packed }>
  >;
  readonly optimizers: Readonly<Record<string, { optimizer: unknown; gradients: Packed[]; weight: Packed }>>;
}

const generations = [2, 3].map((generation): Answers & { generation: number } => {
  const path = new URL(`fixtures/keras-${generation}-cases.json.gz`, import.meta.url);
  return { generation, ...(JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as Answers) };
});

afterEach(() => tf.disposeVariables());

const unpack = ({ shape, values, dtype }: Packed): tf.Tensor => tf.tensor(values, shape, dtype);

function expectClose(found: tf.Tensor, { values }: Packed, tolerance: number): void {
  Array.from(found.dataSync()).forEach((value, i) => {
    expect(Math.abs(value - (values[i] as number))).toBeLessThanOrEqual(
      tolerance * (0.1 + Math.abs(values[i] as number)),
    );
  });
}

/** A model that does nothing but shift its input, so that what a loss gives back to its output is the shift's gradient. */
function shifting(shape: readonly number[], compilation: object): tf.LayersModel {
  const file = smallModel(
    ["x", "InputLayer", { batch_input_shape: [null, ...shape.slice(1)] }],
    ["shift", "LocallyShifted", {}, ["x"]],
  );
  return loadKerasModel({ ...file, ...compilation });
}

class LocallyShifted extends tf.layers.Layer {
  static readonly className = "LocallyShifted";
  override build(shape: number[]): void {
    this.addWeight("by", shape.slice(1), "float32", tf.initializers.zeros());
    this.built = true;
  }
  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    return tf.add([inputs].flat()[0] as tf.Tensor, (this.weights[0] as tf.LayerVariable).read());
  }
}
tf.serialization.registerClass(LocallyShifted as never);

/** Takes the step of a compiled model as `fit` does, and returns the loss and what the weights have become. */
async function trained(model: tf.LayersModel, x: tf.Tensor, y: tf.Tensor | tf.Tensor[]): Promise<[number, tf.Tensor]> {
  const loss = [await model.trainOnBatch(x, y)].flat()[0] as number;
  return [loss, tf.neg(model.getWeights()[0] as tf.Tensor)];
}

const plain = { class_name: "SGD", config: { learning_rate: 1 } };

describe.each(generations)("models compiled by Keras $generation", ({ generation, losses, optimizers }) => {
  it.each(Object.keys(losses))("has Keras' loss and its gradient: %s", async (name) => {
    const { loss, target, output, value, gradient } = losses[name] as Answers["losses"][string];
    const compilation =
      generation === 2
        ? { training_config: JSON.stringify({ loss, optimizer_config: plain }) }
        : { compile_config: { loss, optimizer: plain } };
    const sparse = target.shape.length < output.shape.length;
    const y = sparse ? tf.expandDims(unpack(target), -1) : unpack(target);
    const [found, moved] = await trained(shifting(output.shape, compilation), unpack(output), y);
    expect(Math.abs(found - value)).toBeLessThanOrEqual(4e-6 * Math.abs(value)); // 4.4e-7
    expectClose(moved, gradient, 1e-5); // 1.0e-6
  });

  it.each(Object.keys(optimizers))("updates as Keras does: %s", (name) => {
    const { optimizer, gradients, weight } = optimizers[name] as Answers["optimizers"][string];
    const { optimizer: own, notes } = optimizerOf(optimizer) as NonNullable<ReturnType<typeof optimizerOf>>;
    expect(notes).toEqual([]);
    const variable = tf.variable(tf.linspace(-1, 1, 5), true, "w");
    for (const gradient of gradients) own.applyGradients({ w: unpack(gradient) });
    expectClose(variable, weight, 1e-5); // 5.6e-6
  });
});

describe("a Sequential", () => {
  const input = (shape: string) => ["InputLayer", { name: "x", [shape]: [null, 3] }] as const;
  const layer = ([class_name, config]: readonly [string, object]) => ({ class_name, config });
  const ones = ["Dense", { name: "a", units: 2, kernel_initializer: "ones" }] as const;

  it.each<[string, readonly (readonly [string, object])[], (loss: string) => object]>([
    ["Keras 2", [input("batch_input_shape"), ones], (loss) => ({ training_config: { loss, optimizer_config: plain } })],
    ["Keras 3", [input("batch_shape"), ones], (loss) => ({ compile_config: { loss, optimizer: plain } })],
    [
      "tfjs, without an input layer",
      [["Dense", { ...ones[1], batch_input_shape: [null, 3] }]],
      (loss) => ({ training_config: { loss, optimizer_config: plain, metrics: [] } }),
    ],
  ])("of %s is compiled, too", async (_what, layers, compiledWith) => {
    const config = { name: "s", layers: layers.map(layer) };
    const file = (loss: string) => ({
      modelTopology: { class_name: "Sequential", config },
      ...compiledWith(loss),
    });
    const model = loadKerasModel(file("mse"));
    expect([await model.trainOnBatch(tf.ones([2, 3]), tf.zeros([2, 2]))].flat()[0]).toBeCloseTo(9, 4);
    expect(isCompiled(loadKerasModel(file("ctc")))).toBe(false);
  });
});

const dense = smallModel(
  ["x", "InputLayer", { batch_input_shape: [null, 3] }],
  ["a", "Dense", { units: 2, kernel_initializer: "ones" }, ["x"]],
  ["b", "Dense", { units: 1, kernel_initializer: "ones" }, ["x"]],
);
dense.modelTopology.config.output_layers = [
  ["a", 0, 0],
  ["b", 0, 0],
];

/** Loads the model of two outputs, compiled so, and returns it with what was told. */
function compiled(config: object): [tf.LayersModel, string[]] {
  const notes: string[] = [];
  const model = loadKerasModel({ ...dense, training_config: config }, { onNote: (note) => notes.push(note) });
  return [model, notes];
}

const isCompiled = ({ optimizer }: tf.LayersModel): boolean => optimizer !== undefined;

describe("a model of two outputs", () => {
  const x = tf.ones([2, 3]);
  const y = [tf.zeros([2, 2]), tf.zeros([2, 1])];

  it.each<[string, object, number]>([
    ["one loss for both", { loss: "mse" }, 18],
    ["a list", { loss: ["mse", "mae"] }, 12],
    ["a record", { loss: { b: "mae", a: "MeanSquaredError" } }, 12],
    ["weights by output", { loss: "mse", loss_weights: { a: 0.5, b: 2 } }, 22.5],
    ["a list of weights", { loss: "mse", loss_weights: [0.5, 0] }, 4.5],
    ["a function of Keras 3's", { loss: { class_name: "function", config: "mean_squared_error" } }, 18],
  ])("is compiled with %s", async (_what, config, expected) => {
    const [model, notes] = compiled({ ...config, optimizer_config: plain });
    expect(notes).toEqual([expect.stringMatching(/^the file is compiled with meanS.* and SGD at 1$/)]);
    expect([await model.trainOnBatch(tf.clone(x), y)].flat()[0]).toBeCloseTo(expected, 4);
  });

  it.each<[string, object, RegExp]>([
    [
      "a loss that is not here",
      { loss: "ctc" },
      /the loss of the output 'a' \(ctc\) is not supported, so the model is not compiled/,
    ],
    ["a loss of one output only", { loss: { a: "mse" } }, /the loss of the output 'b' is not in the file/],
    [
      "ignored classes",
      { loss: { class_name: "SparseCategoricalCrossentropy", config: { ignore_class: 0 } } },
      /SparseCat/,
    ],
    [
      "an optimizer that is not here",
      { loss: "mse", optimizer_config: "ftrl" },
      /the optimizer ftrl of the file is not supported/,
    ],
  ])("is not compiled with %s, which is told", (_what, config, note) => {
    const [model, notes] = compiled({ optimizer_config: plain, ...config });
    expect(isCompiled(model)).toBe(false);
    expect(notes.join()).toMatch(note);
  });

  it("is told what tfjs's optimizer does not do", () => {
    const schedule = { class_name: "ExponentialDecay", config: { initial_learning_rate: 0.2, decay_steps: 10 } };
    const written = {
      class_name: "Custom>AdamW",
      config: { learning_rate: schedule, weight_decay: 0.004, clipnorm: 1 },
    };
    const scaled = { class_name: "LossScaleOptimizer", config: { inner_optimizer: written } };
    const [model, notes] = compiled({ loss: "mse", optimizer_config: scaled });
    expect(model.optimizer.getClassName()).toBe("Adam");
    expect(model.optimizer.getConfig()["learningRate"]).toBe(0.2);
    expect(notes).toEqual([
      "the file is compiled with meanSquaredError and Adam at 0.2",
      "tfjs has no AdamW: Adam replaces it, with optimizer state of the same size",
      "the learning rate stays 0.2, the first value of ExponentialDecay",
      "tfjs's AdamW has no clipnorm: 1 is ignored",
      "tfjs's AdamW has no weight_decay: 0.004 is ignored",
    ]);
  });

  it("gives back what its optimizer holds, too", () => {
    const before = tf.memory().numTensors;
    const [model] = compiled({ loss: "mse", optimizer_config: "adam" });
    model.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
});

const words = { input_dim: 3, output_dim: 1, mask_zero: true, embeddings_initializer: "ones" };

it.each<[string, string, number, object]>([
  ["a layer", "Embedding", 0, words],
  [
    "a layer of a model inside",
    "Sequential",
    // Its first call is the one that made it.
    1,
    {
      layers: [
        { class_name: "InputLayer", config: { batch_input_shape: [null, 4], dtype: "int32", name: "inner_ids" } },
        { class_name: "Embedding", config: { ...words, name: "inner_words" } },
      ],
    },
  ],
])("a loss is of the steps that the output's mask counts: of %s", async (_, className, call, config) => {
  const file = smallModel(
    ["ids", "InputLayer", { batch_input_shape: [null, 4], dtype: "int32" }],
    ["e", className, config, ["ids"]],
    ["d", "Dense", { units: 1, use_bias: false, kernel_initializer: "ones" }, ["e"]],
  );
  const wired = JSON.parse(JSON.stringify(file).replace('["e",0,', `["e",${call},`));
  const compile_config = { loss: "mse", optimizer: plain };
  const model = loadKerasModel({ ...wired, compile_config });
  const target = tf.tensor3d([0, 2, 4, 9], [1, 4, 1]);
  // (1 - 0)², (1 - 2)² and (1 - 4)² count, the last does not.
  const loss = await model.trainOnBatch(tf.tensor2d([[1, 2, 1, 0]], undefined, "int32"), target);
  expect([loss].flat()[0]).toBeCloseTo(11 / 3, 5);
});

// Keras' gradient of a magnitude is 0 at 0, so a regularizer alone does not move a zero.
it.each(["L1", "L1L2"])("%s leaves weights that are 0 as they are", async (className) => {
  const regularizer = { class_name: className, config: className === "L1" ? { l1: 0.5 } : { l1: 0.5, l2: 0.5 } };
  const file = smallModel(
    ["x", "InputLayer", { batch_input_shape: [null, 3] }],
    ["y", "Dense", { units: 2, kernel_initializer: "zeros", kernel_regularizer: regularizer }, ["x"]],
  );
  const model = loadKerasModel({ ...file, training_config: { loss: "mse", optimizer_config: plain } });
  await model.trainOnBatch(tf.ones([2, 3]), tf.zeros([2, 2]));
  expect(Array.from((model.getWeights()[0] as tf.Tensor).dataSync())).toEqual([0, 0, 0, 0, 0, 0]);
  (model.layers[1] as tf.layers.Layer).setWeights([tf.tensor([2, -2, 0, 0, 0, 0], [3, 2]), tf.zeros([2])]);
  const loss = [await model.trainOnBatch(tf.zeros([2, 3]), tf.zeros([2, 2]))].flat()[0];
  expect(loss).toBe(className === "L1" ? 2 : 6);
});
