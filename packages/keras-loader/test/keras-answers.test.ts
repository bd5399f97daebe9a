import { readFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";

interface Packed {
  readonly shape: number[];
  readonly dtype: "float32" | "int32";
  readonly values: number[];
}

interface Case {
  readonly topology: object;
  readonly parameters: number;
  readonly weights: Record<string, Packed[]>;
  readonly inputs: Packed[];
  readonly outputs: Packed[];
  readonly trainingOutputs?: Packed[];
}

/** Small models of Keras 3.10 with their weights, an input and Keras' answer: see fixtures/make-fixtures.py. */
const { cases } = JSON.parse(readFileSync(new URL("fixtures/keras-3-models.json", import.meta.url), "utf8")) as {
  cases: Record<string, Case>;
};

afterEach(() => tf.disposeVariables());

describe("a model of Keras 3", () => {
  it.each(Object.keys(cases))("%s answers as Keras does", (name) => {
    const { topology, parameters, weights, inputs, outputs, trainingOutputs } = cases[name] as Case;
    const model = loadKerasModel(topology);
    expect(model.countParams()).toBe(parameters);
    const filled = setWeights(model, weights);
    expect(filled.sort()).toEqual(Object.keys(weights).sort());
    const tensors = inputs.map(unpack);
    const run = (training: boolean) => {
      const result = model.apply(tensors.length === 1 ? (tensors[0] as tf.Tensor) : tensors, { training }) as
        | tf.Tensor
        | tf.Tensor[];
      return Array.isArray(result) ? result : [result];
    };
    compare(run(false), outputs);
    if (trainingOutputs !== undefined) compare(run(true), trainingOutputs);
  });
});

/** Fills the weights of every layer, by the path of its name; returns the paths filled. */
function setWeights(model: tf.LayersModel, weights: Record<string, Packed[]>, prefix = ""): string[] {
  return model.layers.flatMap((layer) => {
    const path = prefix + layer.name;
    if (layer instanceof tf.LayersModel) return setWeights(layer, weights, `${path}/`);
    const own = weights[path];
    if (own !== undefined) layer.setWeights(own.map(unpack));
    return own === undefined ? [] : [path];
  });
}

function unpack({ shape, dtype, values }: Packed): tf.Tensor {
  return tf.tensor(values, shape, dtype);
}

function compare(found: readonly tf.Tensor[], expected: readonly Packed[]): void {
  expect(found.map((tensor) => tensor.shape)).toEqual(expected.map((packed) => packed.shape));
  found.forEach((tensor, i) => {
    const values = tensor.dataSync();
    // Off by 1.8e-6.
    expected[i]?.values.forEach((value, j) =>
      expect(Math.abs((values[j] as number) - value)).toBeLessThan(1e-5 * (1 + Math.abs(value))),
    );
  });
}
