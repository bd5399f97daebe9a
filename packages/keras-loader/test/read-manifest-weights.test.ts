import { memory, type Tensor } from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { readManifestWeights, weightsManifest } from "../src/weights/read-manifest-weights.js";
import type { KerasWeights } from "../src/weights/stored-weights.js";

const manifest = (...weightsManifest: unknown[]) => ({ weightsManifest });
const group = (...weights: unknown[]) => ({ paths: ["a.bin"], weights });

describe("a manifest", () => {
  it("has the bytes of each group by stored dtype", () => {
    const of = (dtype: string) => ({ name: dtype, shape: [2, 3], dtype });
    const bytesOf = (...weights: unknown[]) => weightsManifest(manifest(group(...weights))).map(({ bytes }) => bytes);
    expect([of("float32"), of("int32"), of("bool")].map((entry) => bytesOf(entry))).toEqual([[24], [24], [6]]);
    const stored = (dtype: string) => ({ ...of("float32"), quantization: { dtype, scale: 1, min: 0 } });
    expect([stored("uint8"), stored("uint16"), stored("float16")].map((entry) => bytesOf(entry))).toEqual([
      [6],
      [12],
      [12],
    ]);
    expect(bytesOf(of("float32"), stored("uint8"), { name: "none", shape: [0], dtype: "int32" })).toEqual([30]);
    expect(bytesOf({ name: "scalar", shape: [], dtype: "int32" })).toEqual([4]);
    expect(weightsManifest({})).toEqual([]);
  });

  const entry = { name: "w", shape: [1], dtype: "float32" };
  it.each([
    [{ weightsManifest: 3 }, "weightsManifest is not a list of groups"],
    [manifest(null), "weightsManifest is not a list of groups"],
    [manifest({ paths: ["a.bin"] }), "weightsManifest is not a list of groups"],
    [manifest({ weights: [] }), "weightsManifest is not a list of groups"],
    [manifest(group(entry, null)), "weight 1 of the manifest has no name"],
    [manifest(group({ ...entry, name: 1 })), "weight 0 of the manifest has no name"],
    [manifest(group({ ...entry, shape: undefined })), 'weight "w" of the manifest has the shape undefined, expected'],
    [manifest(group({ ...entry, shape: [-1] })), "has the shape [-1], expected a list of sizes"],
    [manifest(group({ ...entry, shape: [0.5] })), "has the shape [0.5]"],
    // 8 bytes each must be a safe number.
    [manifest(group({ ...entry, shape: [2 ** 50] })), "has the shape [1125899906842624]"],
    [manifest(group({ ...entry, quantization: null })), "has the quantization null, expected"],
    [manifest(group({ ...entry, quantization: { dtype: "uint8", scale: "1" } })), "has the quantization"],
    [manifest(group({ ...entry, quantization: { dtype: "uint8", scale: 1, min: "0" } })), "has the quantization"],
    [manifest(group({ ...entry, quantization: { dtype: "uint8", scale: Infinity } })), "has the quantization"],
    [manifest(group({ ...entry, dtype: "toString" })), "has dtype toString, expected one of float32, int32"],
    [manifest(group({ ...entry, dtype: 3 })), "has dtype 3, expected one of"],
  ])("that is damaged is rejected: %j", (given, message) => {
    expect(() => weightsManifest(given)).toThrow(message);
    expect(() => weightsManifest(given)).toThrow("Convert the model again with tensorflowjs_converter.");
    expect(() => weightsManifest(given)).toThrow(expect.objectContaining({ code: "KERAS_WEIGHTS_FILE" }));
  });

  it("may have a weight of almost as many bytes as a number can count", () => {
    expect(weightsManifest(manifest(group({ ...entry, shape: [2 ** 50 - 1] })))[0].bytes).toBe(2 ** 52 - 4);
  });
});

describe("weights", () => {
  const bytes = new Uint8Array([...new Uint8Array(Float32Array.of(1.5, -2, 3).buffer), 1, 0, 7, 9]);
  const weights = [
    { name: "a", shape: [3], dtype: "float32" },
    { name: "b", shape: [2], dtype: "bool" },
    { name: "c", shape: [2], dtype: "float32", quantization: { dtype: "uint8", scale: 0.5, min: 1 } },
  ];
  const files: Readonly<Record<string, Uint8Array>> = {
    "a.bin": bytes.subarray(0, 5),
    "b.bin": bytes.subarray(5, 13),
    "c.bin": bytes.subarray(13),
  };
  const read = (...given: object[]) =>
    readManifestWeights(manifest(...given), (path) => files[path]) as Extract<
      KerasWeights,
      { readonly layout: "names" }
    >;

  it("follow each other in the files of their group, which may end in the midst of one", () => {
    const before = memory().numTensors;
    const { arrays, layout } = read({ paths: ["a.bin", "b.bin", "c.bin"], weights });
    expect(layout).toBe("names");
    const tensors = arrays.map((array) => array.read(array.name === "b" ? "bool" : "float32") as Tensor);
    expect(arrays.map(({ name, shape }) => [name, shape])).toEqual(weights.map(({ name, shape }) => [name, shape]));
    expect(tensors.map((tensor) => [...tensor.dataSync()])).toEqual([
      [1.5, -2, 3],
      [1, 0],
      [4.5, 5.5],
    ]);
    // Converting to another dtype disposes of the tensor that was read.
    const ints = arrays[0].read("int32") as Tensor;
    expect([ints.dtype, ...ints.dataSync()]).toEqual(["int32", 1, -2, 3]);
    for (const tensor of [...tensors, ints]) tensor.dispose();
    expect(memory().numTensors).toBe(before);
  });

  it("of several groups come in the order of the groups", () => {
    const { arrays } = read(
      { paths: ["c.bin"], weights: [{ name: "x", shape: [3], dtype: "bool" }] },
      {
        paths: ["b.bin"],
        weights: [{ name: "y", shape: [2], dtype: "int32" }],
      },
    );
    expect(arrays.map(({ name }) => name)).toEqual(["x", "y"]);
  });

  it.each([["a.bin"], ["a.bin", "b.bin"], ["a.bin", "b.bin", "c.bin", "c.bin"]])(
    "in files that are too short or too long are rejected: %s %s %s %s",
    (...paths) => {
      const found = paths.reduce((sum, path) => sum + files[path].length, 0);
      expect(() => read({ paths, weights })).toThrow(
        `${paths.join(", ")}: ${found} bytes, expected 16 for the manifest's 3 weights.`,
      );
    },
  );
});
