import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";
import { type KerasWeights, readHdf5Topology, readKerasWeights, readManifestWeights } from "../src/weights/index.js";
import { type Packed, savedFiles } from "./weight-files.js";

const generations = ([2, 3] as const).map(savedFiles);

afterEach(() => tf.disposeVariables());

const unpack = ({ shape, dtype, values }: Packed): tf.Tensor => tf.tensor(values, shape, dtype);

function expectClose(found: tf.Tensor, expected: Packed): void {
  expect(found.shape).toEqual(expected.shape);
  const values = found.dataSync();
  expected.values.forEach((value, i) => {
    if (!(Math.abs((values[i] as number) - value) <= 1e-5 * Math.max(1, Math.abs(value))))
      expect.fail(`element ${i} is ${values[i]}, Keras has ${value}`);
  });
}

/** The weights of a legacy file as tensorflowjs_converter writes them: by layer in alphabetical order, in two files. */
function converted(bytes: Uint8Array): { readonly manifest: object; readonly read: (path: string) => Uint8Array } {
  const stored = readKerasWeights(bytes) as Extract<KerasWeights, { readonly layout: "layers" }>;
  const arrays = [...stored.layers].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, all]) => all);
  const tensors = arrays.map((array) => array.read("float32"));
  const all = Buffer.concat(tensors.map((tensor) => Buffer.from((tensor.dataSync() as Float32Array).buffer.slice(0))));
  const weights = arrays.map(({ name, shape }) => {
    const written = name.slice(name.indexOf("/") + 1).replace(/:0$/, "");
    return { name: written, shape, dtype: "float32" };
  });
  const middle = Math.floor(all.length / 2);
  return {
    manifest: { weightsManifest: [{ paths: ["a.bin", "b.bin"], weights }] },
    read: (path) => new Uint8Array(path === "a.bin" ? all.subarray(0, middle) : all.subarray(middle)),
  };
}

function arraysOf(weights: KerasWeights) {
  if (weights.layout !== "names") throw new Error(`expected arrays by name, found ${weights.layout}`);
  return weights.arrays;
}

describe.each(generations)("weights that Keras $generation saves", ({ fileOf, answers }) => {
  const names = Object.keys(answers);
  const cases = names.flatMap((name) =>
    (name === "long" ? ["h5"] : ["keras", "h5", "weights.h5"]).map((ending) => [name, ending] as const),
  );
  const expectAnswer = (name: string, source: object, weights: KerasWeights): void => {
    const { inputs, outputs } = answers[name] as (typeof answers)[string];
    const model = loadKerasModel(source, { weights });
    const result = model.predict(inputs.length === 1 ? unpack(inputs[0] as Packed) : inputs.map(unpack));
    [result].flat().forEach((tensor, i) => expectClose(tensor, outputs[i] as Packed));
  };

  it.each(cases)("%s.%s answer as in Keras", (name, ending) => {
    const bytes = fileOf(`${name}.${ending}`);
    const source = ending === "h5" ? readHdf5Topology(bytes) : fileOf(`${name}.keras`);
    expectAnswer(name, source, readKerasWeights(bytes));
  });

  it.each(names)("%s answers as in Keras after a conversion for tfjs", (name) => {
    const bytes = fileOf(`${name}.h5`);
    const { manifest, read } = converted(bytes);
    expectAnswer(name, readHdf5Topology(bytes), readManifestWeights(manifest, read));
  });

  it("are those of the layers of one name in other models, as tfjs saves them", async () => {
    const dense = (name: string) =>
      tf.layers.dense({ name, units: 2, inputShape: [2], kernelInitializer: "randomNormal" });
    const inner = (name: string) => tf.sequential({ name, layers: [dense("dense"), dense("other")] });
    const model = tf.sequential({ layers: [inner("a"), inner("b"), dense("top")] });
    let saved: tf.io.ModelArtifacts | undefined;
    await model.save(
      tf.io.withSaveHandler(async (artifacts) => {
        saved = artifacts;
        return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } };
      }),
    );
    const { modelTopology, weightSpecs, weightData } = saved as Required<tf.io.ModelArtifacts>;
    const json = { modelTopology, weightsManifest: [{ paths: ["weights.bin"], weights: weightSpecs }] };
    const weights = readManifestWeights(json, () => new Uint8Array(weightData as ArrayBuffer));
    const x = tf.tensor2d([[0.3, -0.7]]);
    const found = loadKerasModel(json, { weights }).predict(x) as tf.Tensor;
    expect([...found.dataSync()]).toEqual([...(model.predict(x) as tf.Tensor).dataSync()]);
  });
});

describe("weights of a manifest", () => {
  it("are read one after another from the files of a group, put together, in the dtype asked for, and leave no other tensor", () => {
    const floats = Float32Array.of(1.5, -2, 3);
    const whole = Int32Array.of(7, -8);
    const last = Float32Array.of(0.25);
    const bytes = new Uint8Array([floats, whole, last].flatMap((each) => [...new Uint8Array(each.buffer)]));
    const json = {
      weightsManifest: [
        {
          // The second weight begins in one file and ends in the other.
          paths: ["a.bin", "b.bin"],
          weights: [
            { name: "floats", shape: [3], dtype: "float32" },
            { name: "whole", shape: [2], dtype: "int32" },
            { name: "last", shape: [1, 1], dtype: "float32" },
          ],
        },
      ],
    };
    const files: Record<string, Uint8Array> = { "a.bin": bytes.slice(0, 15), "b.bin": bytes.slice(15) };
    const arrays = arraysOf(readManifestWeights(json, (path) => files[path]!));
    const expected = [
      ["floats", [1.5, -2, 3]],
      ["whole", [7, -8]],
      ["last", [0.25]],
    ];
    for (const dtype of ["float32", "int32"] as const) {
      const before = tf.memory();
      const tensors = arrays.map(({ read }) => read(dtype));
      expect(tf.memory().numTensors).toBe(before.numTensors + 3);
      expect(tf.memory().numBytes).toBe(before.numBytes + 4 * 6);
      expect(tensors.map((tensor) => tensor.dtype)).toEqual([dtype, dtype, dtype]);
      expect(tensors.map((tensor, i) => [arrays[i]!.name, [...tensor.dataSync()]])).toEqual(
        expected.map(([name, values]) => [name, dtype === "int32" ? (values as number[]).map(Math.trunc) : values]),
      );
      tf.dispose(tensors);
    }
  });

  it("are none of a model.json without a manifest", () => {
    const unread = (): Uint8Array => {
      throw new Error("no file is named");
    };
    expect(arraysOf(readManifestWeights({}, unread))).toEqual([]);
  });
});
