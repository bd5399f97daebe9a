import { readFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";

interface Packed {
  readonly shape: number[];
  readonly values: number[];
}

/** A model in training, and the gradients of its outputs, each times a number of its own, and of its penalties: written by tooling/keras-oracle. */
interface Case {
  readonly topology: object;
  readonly weights: Readonly<Record<string, Packed[]>>;
  readonly input: Packed;
  readonly cotangents: readonly Packed[];
  readonly gradients: Readonly<Record<string, Packed[]>>;
}

const generations = [2, 3].map((generation) => {
  const path = new URL(`fixtures/keras-${generation}-penalties.json`, import.meta.url);
  return { generation, cases: JSON.parse(readFileSync(path, "utf8")) as Record<string, Case> };
});

afterEach(() => tf.disposeVariables());

const unpack = ({ shape, values }: Packed): tf.Tensor => tf.tensor(values, shape);

function byPath(model: tf.LayersModel, prefix = ""): [path: string, layer: tf.layers.Layer][] {
  return model.layers.flatMap((layer) =>
    layer instanceof tf.LayersModel
      ? byPath(layer, `${prefix}${layer.name}/`)
      : [[prefix + layer.name, layer] as [string, tf.layers.Layer]],
  );
}

describe.each(generations)("activity regularizers of Keras $generation", ({ cases }) => {
  it.each(Object.keys(cases))("%s have Keras' gradients", (name) => {
    const { topology, weights, input, cotangents, gradients } = cases[name] as Case;
    const notes: string[] = [];
    const model = loadKerasModel(topology, { onNote: (note) => notes.push(note) });
    if (name !== "of a layer of its own") expect(notes.join()).toMatch(/activity penalties \(layer '.*\) are in/);
    const layers = new Map(byPath(model));
    for (const [path, values] of Object.entries(weights)) layers.get(path)?.setWeights(values.map(unpack));
    const { grads } = tf.variableGrads(() => {
      const result = model.apply(unpack(input), { training: true }) as tf.Tensor | tf.Tensor[];
      const terms = [result].flat().map((y, i) => tf.sum(tf.mul(y, unpack(cotangents[i] as Packed))));
      return terms.reduce((a, b) => tf.add(a, b)) as tf.Scalar;
    });
    for (const [path, expected] of Object.entries(gradients))
      (layers.get(path) as tf.layers.Layer).trainableWeights.forEach((weight, i) => {
        const found = (grads[(weight as unknown as { val: tf.Variable }).val.name] as tf.Tensor).dataSync();
        expected[i]?.values.forEach((value, j) => {
          // Off by 5.4e-7.
          expect(Math.abs((found[j] as number) - value)).toBeLessThan(5e-6 * Math.max(1, Math.abs(value)));
        });
      });
  });
});

describe("an activity regularizer", () => {
  const dense = (regularizer: object) => ({
    class_name: "Dense",
    config: { name: "d", units: 2, activity_regularizer: regularizer },
  });
  const l2 = { class_name: "L2", config: { l2: 0.1 } };
  const inner = { class_name: "TimeDistributed", config: { name: "t", layer: dense(l2) } };
  const orthogonal = dense({ class_name: "OrthogonalRegularizer", config: { factor: 0.01 } });

  it.each<[string, object, RegExp]>([
    [
      "of another class",
      orthogonal,
      /Layer 'd' \(Dense\) has the activity regularizer .*Orthogonal.*, expected L1, L2/,
    ],
    [
      "in a wrapper",
      inner,
      /Layer 't' \(TimeDistributed\) has an activity regularizer in its layer, which is not supported/,
    ],
  ])("%s is refused by name", (_, layer, message) => {
    const input = { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 3, 4] } };
    const load = () => loadKerasModel({ class_name: "Sequential", config: { name: "m", layers: [input, layer] } });
    expect(load).toThrow(message);
  });
});
