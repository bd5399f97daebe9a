import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { corrected } from "../src/corrected-layers.js";
import { loadKerasModel } from "../src/index.js";
import {
  kerasFunctions,
  kerasOperation,
  type NamedOperation,
  tensorFlowOperation,
} from "../src/operations/keras-names.js";
import { operations } from "../src/operations/operations.js";
import { refusedLayers } from "../src/refused-layers.js";
import { missing, suppliedLayers } from "../src/supplied-layers.js";
import { isOperation, namedOperation } from "../src/understand-operation.js";

interface Packed {
  readonly shape: number[];
  readonly dtype: "float32" | "int32" | "bool";
  /** JSON has no NaN and no infinities, so these are strings. */
  readonly values: (number | "NaN" | "Infinity" | "-Infinity")[];
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
  /** For a model without randomness. */
  readonly trainingOutputs?: readonly Packed[];
}

const generations = [2, 3].map((generation) => {
  const path = new URL(`fixtures/keras-${generation}-cases.json.gz`, import.meta.url);
  const { cases, layers } = JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as {
    cases: Record<string, Case>;
    /** All that Keras' reference has. */
    layers: readonly string[];
  };
  return { generation, cases, layers };
});

afterEach(() => tf.disposeVariables());

const unpack = ({ shape, dtype, values }: Packed): tf.Tensor => tf.tensor(values.map(Number), shape, dtype);
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
  const wanted = expected.values.map(Number);
  const scale = Math.max(1, ...wanted.filter(Number.isFinite).map(Math.abs));
  wanted.forEach((value, i) => {
    if (Object.is(values[i], value)) return;
    const difference = Math.abs((values[i] as number) - value);
    if (!(difference <= tolerance * Math.max(Math.abs(value), 0.1 * scale)))
      expect.fail(`element ${i} is ${values[i]}, Keras has ${value}`);
  });
}

describe.each(generations)("files written by Keras $generation", ({ cases }) => {
  it.each(Object.keys(cases))("is answered as Keras does: %s", (name) => {
    const { topology, parameters, weights, inputs, outputs, cotangents, ...expected } = cases[name] as Case;
    const { inputGradients, weightGradients, trainingOutputs } = expected;
    // Largest errors: 9.1e-6 of a layer or function, 8.8e-5 of a model
    const gradientBound = name.startsWith("a model: ") ? 4e-4 : 9e-5;
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
    // Shapes of the graph before it runs, with an unknown batch.
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
      if (model.stateful) model.resetStates();
      const results = listed(model.apply(all.length === 1 ? (all[0] as tf.Tensor) : all) as tf.Tensor | tf.Tensor[]);
      results.forEach((result, i) => expectClose(result, outputs[i] as Packed, 1e-5)); // 2.2e-6
      const terms = results.map((result, i) =>
        tf.sum(tf.mul(tf.cast(result, "float32"), unpack(cotangents[i] as Packed))),
      );
      return terms.reduce((a, b) => tf.add(a, b)) as tf.Scalar;
    };
    loss(...floats);

    // If no path leads to an input or weight, tfjs throws when asked for its gradient; Keras returns none.
    const reached = floats.flatMap((_, i) => (inputGradients[i] ? [i] : []));
    const byInput = tf.grads((...given) => {
      const all = floats.map((each, i) => given[reached.indexOf(i)] ?? each);
      return loss(...all);
    });
    if (reached.length > 0)
      byInput(reached.map((i) => floats[i] as tf.Tensor)).forEach((gradient, i) => {
        expectClose(gradient, inputGradients[reached[i] as number] as Packed, gradientBound);
      });
    const trained = Object.entries(weightGradients).flatMap(([path, expected]) =>
      (layers.get(path) as tf.layers.Layer).trainableWeights.flatMap((weight, i) => {
        const packed = expected[i] ?? null;
        const variable = (weight as unknown as { readonly val: tf.Variable }).val;
        return packed === null ? [] : [{ variable, packed }];
      }),
    );
    if (trained.length > 0) {
      const { grads } = tf.variableGrads(
        () => loss(...floats),
        trained.map(({ variable }) => variable),
      );
      for (const { variable, packed } of trained) expectClose(grads[variable.name] as tf.Tensor, packed, gradientBound);
    }
    if (trainingOutputs === undefined) return;
    const results = model.apply(tensors.length === 1 ? (tensors[0] as tf.Tensor) : tensors, { training: true });
    listed(results as tf.Tensor | tf.Tensor[]).forEach((result, i) => {
      expectClose(result, trainingOutputs[i] as Packed, 3e-6); // 3.3e-7
    });
  });
});

/** Base classes, which no file of Keras names. */
const bases = new Set(["AbstractRNNCell", "KerasOperation", "Layer", "Wrapper"]);

it("each layer of Keras is compared with it, or refused with a reason", () => {
  const compared = new Set<unknown>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("class_name" in value) compared.add(value.class_name);
    for (const inner of Object.values(value)) collect(inner);
  };
  collect(generations.map(({ cases }) => Object.values(cases).map(({ topology }) => topology)));
  const named = [...generations.flatMap(({ layers }) => layers), ...suppliedLayers].filter((name) => !bases.has(name));
  expect(named.filter((name) => !compared.has(name) && !Object.hasOwn(refusedLayers, name))).toEqual([]);
});

/** The basis of a layer's test, for display. */
function restsOn(name: string): string {
  const reason = refusedLayers[name];
  if (reason !== undefined) return `refused: ${reason}`;
  const correction = corrected[name];
  if (correction === undefined) return suppliedLayers.includes(name) ? "ours" : "tfjs-layers";
  const [always, detail] = correction.why.split(/^always: /);
  return detail === undefined ? `tfjs-layers; ours ${always}` : `ours: ${detail}`;
}

it("LAYERS.md says what each layer of Keras rests on", async () => {
  const names = [...new Set(generations.flatMap(({ layers }) => layers))].filter((name) => !bases.has(name)).sort();
  const rows = names.map((name) => [
    `\`${name}\``,
    ...generations.map(({ layers }) => (layers.includes(name) ? "yes" : "")),
    restsOn(name),
  ]);
  const head = [["Layer", "Keras 2", "Keras 3", "Rests on"], Array<string>(4).fill("---")];
  const table = [...head, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const page = `# Layers of Keras

This page lists every layer of Keras' reference. A layer uses the class of tfjs-layers, or a class of this package ("ours"), or the loader rejects it ("refused") with the reason shown.
If you load a layer that is not rejected, you can rely on its numbers: outputs are compared with Keras to 1e-5, and gradients to 1e-4. Gradients are also compared at zeros, ties and borders.
There they differ for \`ReLU(max_value=6)\` at exactly 6, for ties in \`MaxPooling3D\`, and for zero vectors in \`Dot(normalize=True)\`.

The tests write this page: \`pnpm vitest run --project keras-loader keras-cases -u\`.

${table}
`;
  await expect(page).toMatchFileSnapshot("../LAYERS.md");
});

describe("layers that this package supplies", () => {
  const { classNameMap } = tf.serialization.SerializationMap.getMap();
  const stock = { ...classNameMap };
  afterEach(() => {
    for (const name of Object.keys(classNameMap)) if (!(name in stock)) delete classNameMap[name];
  });

  /** Returns whether a model's configuration contains a layer of a class. */
  const has = (value: unknown, name: string): boolean =>
    typeof value === "object" &&
    value !== null &&
    (("class_name" in value && value.class_name === name) || Object.values(value).some((inner) => has(inner, name)));

  // Functions and operators are compared below.
  it.each(suppliedLayers.filter((name) => name !== "KerasOperation"))(
    "%s is in a case whose comparison fails if it returns something else",
    (name) => {
      const answer = ({ topology, weights, inputs, outputs }: Case): void => {
        const model = loadKerasModel(topology);
        const layers = new Map(byPath(model));
        for (const [path, values] of Object.entries(weights)) layers.get(path)?.setWeights(values.map(unpack));
        const given = inputs.map(unpack);
        const results = model.apply(given.length === 1 ? (given[0] as tf.Tensor) : given) as tf.Tensor | tf.Tensor[];
        listed(results).forEach((result, i) => expectClose(result, outputs[i] as Packed, 1e-5));
      };
      const all = generations
        .flatMap(({ cases }) => Object.values(cases))
        .filter(({ topology }) => has(topology, name));
      expect(all.length).toBeGreaterThan(0);
      for (const each of all) answer(each);

      class Wrong extends (missing[name] as unknown as typeof tf.layers.Layer) {
        static readonly className = name;
        override call(inputs: tf.Tensor | tf.Tensor[], options: never): tf.Tensor | tf.Tensor[] {
          const results = super.call(inputs, options);
          return Array.isArray(results) ? results.map((each) => tf.add(each, 1)) : tf.add(results, 1);
        }
      }
      tf.serialization.registerClass(Wrong as never);
      const passes = all.filter((each) => {
        try {
          answer(each);
          return true;
        } catch (error) {
          if (!/Keras has/.test(String(error))) throw error;
          return false;
        }
      });
      expect(passes.length).toBeLessThan(all.length);
    },
  );

  const entries = generations.flatMap(({ cases }) =>
    Object.values(cases).flatMap(({ topology }) => topology.config.layers),
  );

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
