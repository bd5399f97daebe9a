import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";

// This file loads tfjs-core, tfjs-layers and a backend, and @tensorflow/tfjs only where it is compared with.
const { prototype } = tf.Tensor;
const names = (): Set<string> => new Set(Object.getOwnPropertyNames(prototype));

const topology = {
  class_name: "Sequential",
  config: {
    name: "recurrent",
    layers: [
      { class_name: "LSTM", config: { name: "l", units: 4, batch_input_shape: [null, 5, 3], return_sequences: true } },
      {
        class_name: "Bidirectional",
        config: { name: "b", layer: { class_name: "GRU", config: { name: "g", units: 3, reset_after: false } } },
      },
      { class_name: "Dense", config: { name: "d", units: 2, activation: "softmax" } },
    ],
  },
};

/** Builds a recurrent model, with its orthogonal initializers, and trains it from weights that are the same each time. */
async function losses(): Promise<unknown[]> {
  const model = loadKerasModel(topology);
  for (const layer of model.layers)
    layer.setWeights(layer.getWeights().map((w) => tf.reshape(tf.linspace(-0.5, 0.5, w.size), w.shape)));
  model.compile({ optimizer: "adam", loss: "categoricalCrossentropy" });
  const [x, y] = [tf.reshape(tf.linspace(0, 1, 30), [2, 5, 3]), tf.tensor2d([[1, 0], [0, 1]])]; // biome-ignore format: two samples
  const all = [];
  for (let step = 0; step < 3; step++) all.push(await model.trainOnBatch(x, y));
  return all;
}

it("tensors have each method that @tensorflow/tfjs gives them, and do the same by it, where tfjs-core and tfjs-layers alone are loaded", async () => {
  await tf.setBackend("cpu");
  const core = names();
  expect(core).not.toContain("flatten");
  const alone = await losses();
  const provided = [...names()].filter((name) => !core.has(name));

  for (const name of provided) delete (prototype as unknown as Record<string, unknown>)[name];
  await import("@tensorflow/tfjs");
  const stock = [...names()].filter((name) => !core.has(name));
  expect(stock.length).toBeGreaterThan(100);
  expect(provided.sort()).toEqual(stock.sort());
  expect(await losses()).toEqual(alone);
});
