import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";
import { suppliedLayers } from "../src/layer-classes.js";
import {
  kerasFunctions,
  kerasOperation,
  type NamedOperation,
  tensorFlowOperation,
} from "../src/operations/keras-names.js";
import { operations } from "../src/operations/operations.js";
import { isOperation, namedOperation } from "../src/understand-operation.js";

interface Packed {
  readonly shape: number[];
  readonly dtype: "float32" | "int32" | "bool";
  readonly values: number[];
}

/** A small model, and what Keras makes of it: written by tooling/keras-oracle. */
interface Case {
  readonly topology: { readonly config: { readonly layers: readonly Record<string, unknown>[] } };
  readonly parameters: number;
  readonly weights: Readonly<Record<string, Packed[]>>;
  readonly inputs: readonly Packed[];
  readonly outputs: readonly Packed[];
  readonly cotangents: readonly Packed[];
  readonly inputGradients: readonly (Packed | null)[];
  readonly weightGradients: Readonly<Record<string, readonly (Packed | null)[]>>;
}

const generations = [2, 3].map((generation) => {
  const path = new URL(`fixtures/keras-${generation}-cases.json.gz`, import.meta.url);
  const { cases } = JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as { cases: Record<string, Case> };
  return { generation, cases };
});

afterEach(() => tf.disposeVariables());

const unpack = ({ shape, dtype, values }: Packed): tf.Tensor => tf.tensor(values, shape, dtype);
const listed = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value]);

/** Weights of every layer by the path of its name, those of inner models among them. */
function byPath(model: tf.LayersModel, prefix = ""): [path: string, layer: tf.layers.Layer][] {
  return model.layers.flatMap((layer) =>
    layer instanceof tf.LayersModel
      ? byPath(layer, `${prefix}${layer.name}/`)
      : [[prefix + layer.name, layer] as [string, tf.layers.Layer]],
  );
}

function expectClose(found: tf.Tensor, expected: Packed, tolerance: number): void {
  expect(found.shape).toEqual(expected.shape);
  const values = found.dataSync();
  const scale = Math.max(1, ...expected.values.map(Math.abs));
  expected.values.forEach((value, i) => {
    const difference = Math.abs((values[i] as number) - value);
    if (!(difference <= tolerance * Math.max(Math.abs(value), 0.1 * scale)))
      expect.fail(`element ${i} is ${values[i]}, Keras has ${value}`);
  });
}

describe.each(generations)("what Keras $generation writes", ({ cases }) => {
  it.each(Object.keys(cases))("is answered as Keras does: %s", (name) => {
    const { topology, parameters, weights, inputs, outputs, cotangents, inputGradients, weightGradients } = cases[
      name
    ] as Case;
    const model = loadKerasModel(topology);
    expect(model.countParams()).toBe(parameters);
    const layers = new Map(byPath(model));
    for (const [path, values] of Object.entries(weights)) layers.get(path)?.setWeights(values.map(unpack));
    expect(
      [...layers]
        .filter(([, layer]) => layer.weights.length > 0)
        .map(([path]) => path)
        .sort(),
    ).toEqual(Object.keys(weights).sort());
    // What the graph says of shapes, before anything runs: the batch is not known.
    const { outputShape } = model as { readonly outputShape: (number | null)[] | (number | null)[][] };
    const shapes = (Array.isArray(outputShape[0]) ? outputShape : [outputShape]) as (number | null)[][];
    shapes.forEach((shape, i) => {
      const { shape: actual } = outputs[i] as Packed;
      expect(shape.length).toBe(actual.length);
      shape.forEach((size, axis) => expect(size ?? actual[axis]).toBe(actual[axis]));
    });

    const tensors = inputs.map(unpack);
    const floats = tensors.filter((_, i) => (inputs[i] as Packed).dtype === "float32");
    const loss = (...given: tf.Tensor[]): tf.Scalar => {
      let next = 0;
      const all = tensors.map((tensor, i) =>
        (inputs[i] as Packed).dtype === "float32" ? (given[next++] as tf.Tensor) : tensor,
      );
      const results = listed(model.apply(all.length === 1 ? (all[0] as tf.Tensor) : all) as tf.Tensor | tf.Tensor[]);
      results.forEach((result, i) => expectClose(result, outputs[i] as Packed, 1e-5));
      const terms = results.map((result, i) =>
        tf.sum(tf.mul(tf.cast(result, "float32"), unpack(cotangents[i] as Packed))),
      );
      return terms.reduce((a, b) => tf.add(a, b)) as tf.Scalar;
    };
    loss(...floats);

    // Where no path leads to an input or weight, stock tfjs refuses to give its gradient, as Keras gives none.
    floats.forEach((_, i) => {
      const expected = inputGradients[i] ?? null;
      if (expected === null) return;
      const gradient = tf.grad((x) => loss(...floats.map((each, j) => (i === j ? x : each))))(floats[i] as tf.Tensor);
      expectClose(gradient, expected, 1e-4);
    });
    for (const [path, expected] of Object.entries(weightGradients)) {
      const own = (layers.get(path) as tf.layers.Layer).trainableWeights;
      own.forEach((weight, i) => {
        const packed = expected[i] ?? null;
        if (packed === null) return;
        const variable = (weight as unknown as { readonly val: tf.Variable }).val;
        const { grads } = tf.variableGrads(() => loss(...floats), [variable]);
        expectClose(grads[variable.name] as tf.Tensor, packed, 1e-4);
      });
    }
  });
});

describe("what this package supplies", () => {
  const entries = generations.flatMap(({ cases }) =>
    Object.values(cases).flatMap(({ topology }) => topology.config.layers),
  );

  it("is compared with Keras: each layer", () => {
    const compared = new Set(entries.map((entry) => entry["class_name"]));
    expect(suppliedLayers.filter((name) => name !== "KerasOperation" && !compared.has(name))).toEqual([]);
  });

  it("is compared with Keras: each function, by its parameters' names", () => {
    const called = entries.filter(isOperation);
    // Some names are synonyms of which Keras writes one: the same operation with the same parameters.
    const keyOf = (named: NamedOperation | undefined) => JSON.stringify(named);
    const keys = new Set(called.map((entry) => keyOf(namedOperation(entry))));
    const uncompared = kerasFunctions.filter(
      (name) => !keys.has(keyOf(tensorFlowOperation(name) ?? kerasOperation(name))),
    );
    expect(uncompared).toEqual([]);
    const run = new Set(called.map((entry) => namedOperation(entry)?.operation));
    expect(Object.keys(operations).filter((name) => !run.has(name as never))).toEqual([]);
  });
});
