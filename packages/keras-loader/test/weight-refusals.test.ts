import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { strToU8, unzipSync, zipSync } from "fflate";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";
import { readArchive, readArchiveWeights } from "../src/read-archive.js";
import { readHdf5Topology, readKerasWeights, readManifestWeights } from "../src/weights/index.js";
import { refusalOf } from "./refusal.js";
import { savedFiles } from "./weight-files.js";

afterEach(() => tf.disposeVariables());

const { fileOf } = savedFiles(3);

/** A model of one layer, d, of 3 inputs. */
const dense = (units: number, more: object[] = []) => ({
  class_name: "Sequential",
  config: {
    name: "m",
    layers: [
      { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 3] } },
      { class_name: "Dense", config: { name: "d", units } },
      ...more,
    ],
  },
});
const entry = (name: string, shape: number[], dtype = "float32") => ({ name, shape, dtype });
const manifest = (...weights: object[]) => ({ weightsManifest: [{ paths: ["w.bin"], weights }] });

it("an archive of which any byte of a file was changed is refused, or read as it was written", () => {
  const archive = fileOf("films.keras");
  const whole = unzipSync(archive);
  const read = (bytes: Uint8Array) => [readArchiveWeights(bytes), strToU8(readArchive(bytes))];
  fc.assert(
    fc.property(fc.nat({ max: archive.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, by) => {
      const changed = archive.slice();
      changed[at] = (changed[at] as number) ^ by;
      const [code] = refusalOf(() => expect(read(changed)).toEqual([whole["model.weights.h5"], whole["config.json"]]));
      expect(["none", "KERAS_ARCHIVE"]).toContain(code);
    }),
    { numRuns: 60 },
  );
  const flipped = archive.slice();
  const middle = flipped.length >> 1;
  flipped[middle] = ~(flipped[middle] as number);
  expect(refusalOf(() => readArchiveWeights(flipped))[1]).toMatch(/its model\.weights\.h5 is damaged/);
});

describe("a file of weights", () => {
  it.each<[string, () => unknown, string, RegExp]>([
    [
      "without a topology",
      () => readHdf5Topology(fileOf("films.weights.h5")),
      "KERAS_NO_TOPOLOGY",
      /contains weights, but no model\. Save the model/,
    ],
    [
      "of another kind",
      () => readKerasWeights(strToU8("hello")),
      "KERAS_WEIGHTS_FILE",
      /neither a \.keras archive nor HDF5/,
    ],
    ["that is empty", () => readHdf5Topology(new Uint8Array()), "KERAS_WEIGHTS_FILE", /cut short.*it is empty/],
    [
      "with a byte of its topology lost",
      () => {
        const bytes = fileOf("films.h5").slice();
        const text = new TextDecoder("latin1").decode(bytes);
        bytes[text.indexOf('"class_name"')] = 0;
        return readHdf5Topology(bytes);
      },
      "KERAS_WEIGHTS_FILE",
      /cut short, or not an HDF5 .*line 1, column 2/,
    ],
    [
      "cut short",
      () => readKerasWeights(fileOf("films.h5").slice(0, 9000)),
      "KERAS_WEIGHTS_FILE",
      /HDF5 file: cut short, or .*copy the whole file/,
    ],
    [
      "in an archive without it",
      () => readKerasWeights(zipSync({ "config.json": strToU8("{}") })),
      "KERAS_ARCHIVE",
      /has no model\.weights\.h5/,
    ],
    [
      "that is no manifest",
      () => readManifestWeights({ weightsManifest: [{ paths: 3 }] }, () => new Uint8Array(4)),
      "KERAS_WEIGHTS_FILE",
      /not a list of groups with `paths` and `weights`/,
    ],
    [
      "of strings",
      () => readManifestWeights(manifest(entry("w", [2], "string")), () => new Uint8Array(4)),
      "KERAS_WEIGHTS_FILE",
      /weight w of the manifest has dtype string, expected one of float32/,
    ],
    ...[3, null, [3], [{ paths: ["a"], weights: {} }], [{ paths: "a", weights: [] }]].map(
      (groups): [string, () => unknown, string, RegExp] => [
        `with the manifest ${JSON.stringify(groups)}`,
        () => readManifestWeights({ weightsManifest: groups }, () => new Uint8Array(4)),
        "KERAS_WEIGHTS_FILE",
        /not a list of groups with `paths` and `weights`/,
      ],
    ),
    ...[null, {}, { name: 3, shape: [1], dtype: "float32" }].map((weight): [string, () => unknown, string, RegExp] => [
      `with the weight ${JSON.stringify(weight)}`,
      () =>
        readManifestWeights({ weightsManifest: [{ paths: ["w.bin"], weights: [weight] }] }, () => new Uint8Array(4)),
      "KERAS_WEIGHTS_FILE",
      /weight 0 of the manifest has no name/,
    ]),
    // 8 bytes of each of 2^50 numbers are more than a number can count.
    ...[3, [-1], [0.5], ["1"], [2 ** 53], [2 ** 25, 2 ** 25], undefined].map(
      (shape): [string, () => unknown, string, RegExp] => [
        `of the shape ${JSON.stringify(shape)}`,
        () => readManifestWeights(manifest({ name: "w", shape, dtype: "float32" }), () => new Uint8Array(4)),
        "KERAS_WEIGHTS_FILE",
        /weight "w" of the manifest has the shape .*, expected a list of sizes/,
      ],
    ),
    ...[3, "uint8", { scale: "1" }, { scale: Number.NaN }, { scale: 1, min: Infinity }, { min: "0" }].map(
      (quantization): [string, () => unknown, string, RegExp] => [
        `quantized by ${JSON.stringify(quantization)}`,
        () => readManifestWeights(manifest({ ...entry("w", [1]), quantization }), () => new Uint8Array(4)),
        "KERAS_WEIGHTS_FILE",
        /weight "w" of the manifest has the quantization .*, expected a dtype with a scale and a minimum/,
      ],
    ),
    [
      "longer than its manifest",
      () => readManifestWeights(manifest(entry("w", [2])), () => new Uint8Array(9)),
      "KERAS_WEIGHTS_FILE",
      /w\.bin: 9 bytes, expected 8 for the manifest's 1 weights/,
    ],
    [
      "of the dtype of a prototype",
      () => readManifestWeights(manifest(entry("w", [2], "constructor")), () => new Uint8Array(4)),
      "KERAS_WEIGHTS_FILE",
      /weight w of the manifest has dtype constructor, expected one of float32/,
    ],
    [
      "shorter than its manifest",
      () => readManifestWeights(manifest(entry("w", [2])), () => new Uint8Array(4)),
      "KERAS_WEIGHTS_FILE",
      /w\.bin: 4 bytes, expected 8 for the manifest's 1 weights/,
    ],
  ])("%s is refused", (_name, run, code, message) => {
    expect(refusalOf(run)).toEqual([code, expect.stringMatching(message)]);
  });

  it.each<[string, object, string, RegExp]>([
    [
      "of another shape",
      dense(5),
      "KERAS_WEIGHTS_SHAPE",
      /^the weight files of model\.json: Layer 'd' \(Dense\) has kernel of shape \[3, 5\], and the file has \[3, 2\] at d\/kernel\. Use/,
    ],
    [
      "of fewer layers",
      dense(2, [{ class_name: "Dense", config: { name: "e", units: 1 } }]),
      "KERAS_WEIGHTS_ABSENT",
      /the file has no weights of layer 'e' \(Dense\): expected kernel \[2, 1\], bias \[1\] at m\/e\./,
    ],
  ])("%s than the model's is refused, naming the layer, and leaves no tensor", (_name, topology, code, message) => {
    const weights = readManifestWeights(
      manifest(entry("d/kernel", [3, 2]), entry("d/bias", [2])),
      () => new Uint8Array(32),
    );
    const before = tf.memory().numTensors;
    expect(refusalOf(() => loadKerasModel(topology, { weights }))).toEqual([code, expect.stringMatching(message)]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it.each(["films.keras", "films.h5"])("%s of another model is refused, naming a layer", (name) => {
    const weights = readKerasWeights(fileOf(name));
    const [code, message] = refusalOf(() => loadKerasModel(fileOf("vision.keras"), { weights }));
    expect([code, message]).toEqual([
      "KERAS_WEIGHTS_ABSENT",
      expect.stringMatching(/layer 'normalization|layer 'conv2d|weights of \d layers/),
    ]);
  });

  it("may be quantized, or of half precision", () => {
    const quantized = { ...entry("d/kernel", [3, 2]), quantization: { dtype: "uint8", scale: 0.5, min: -1 } };
    const half = { ...entry("d/bias", [2]), quantization: { dtype: "float16", original_dtype: "float32" } };
    // 1 and -2 in half precision.
    const bytes = new Uint8Array([0, 1, 2, 3, 4, 5, 0x00, 0x3c, 0x00, 0xc0]);
    const model = loadKerasModel(dense(2), { weights: readManifestWeights(manifest(quantized, half), () => bytes) });
    expect(model.getWeights().map((weight) => [...weight.dataSync()])).toEqual([
      [-1, -0.5, 0, 0.5, 1, 1.5],
      [1, -2],
    ]);
  });

  it("damaged anywhere is read or refused by a RematError, never anything else", () => {
    const whole = fileOf("films.h5");
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) }), { minLength: 1, maxLength: 6 }),
        fc.option(fc.nat(whole.length - 1)),
        (changes, end) => {
          const bytes = whole.slice(0, end ?? undefined);
          for (const { at, to } of changes) if (at < bytes.length) bytes[at] = to;
          refusalOf(() => loadKerasModel(fileOf("films.keras"), { weights: readKerasWeights(bytes) }));
          refusalOf(() => readHdf5Topology(bytes));
        },
      ),
      { numRuns: 60 },
    );
  });
});
