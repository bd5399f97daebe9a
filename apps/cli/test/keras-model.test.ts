import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "@tensorflow/tfjs-backend-cpu";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kerasImporter } from "../src/importers/keras.js";
import { remat } from "./run.js";

/** A model as Keras 3 writes it, compiled with Adam, with a layer of an unknown class. */
const layer = (className: string, name: string, from: string | undefined, config: object) => ({
  class_name: className,
  name,
  config: { name, ...config },
  inbound_nodes: from === undefined ? [] : [[[from, 0, 0, {}]]],
});
const model = {
  class_name: "Functional",
  config: {
    name: "mine",
    layers: [
      layer("InputLayer", "x", undefined, { batch_input_shape: [null, 4] }),
      layer("Shift", "shift", "x", { shift_by: 0.5 }),
      layer("Dense", "d", "shift", { units: 3 }),
    ],
    input_layers: [["x", 0, 0]],
    output_layers: [["d", 0, 0]],
  },
  compile_config: { optimizer: "adam", loss: "mae" },
};
const layers = `export default ({ tf }) => [
  class Shift extends tf.layers.Layer {
    static className = "Shift";
    constructor(config) { super(config); this.shiftBy = config.shiftBy; }
    call(inputs) { return tf.add([inputs].flat()[0], this.shiftBy); }
    getConfig() { return { ...super.getConfig(), shiftBy: this.shiftBy }; }
  },
];`;

const fixtureOf = (name: string): URL =>
  new URL(`../../../packages/keras-loader/test/fixtures/${name}`, import.meta.url);

let folder: string;
const pathOf = (name: string): string => join(folder, name);
const memory = (...args: string[]) => remat("memory", pathOf("model.json"), ...args);
const withLayers = async (...args: string[]) =>
  JSON.parse((await memory("--layers", pathOf("layers.mjs"), "--format", "json", ...args)).stdout);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-keras-"));
  writeFileSync(pathOf("model.json"), JSON.stringify(model));
  writeFileSync(pathOf("layers.mjs"), layers);
  writeFileSync(pathOf("plain.mjs"), "export default 3;");
  writeFileSync(pathOf("none.mjs"), "export default () => ({});");
  writeFileSync(pathOf("string.mjs"), 'export default () => ["Shift"];');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a Keras model", () => {
  it("with a layer of one's own is refused with the class to write, in its lines, and loads with it", async () => {
    const { code, stderr } = await memory();
    expect(code).toBe(1);
    const [said, empty, ...skeleton] = stderr.split("\n");
    expect(said).toMatch(/tfjs-layers does not support layer 'shift' \(Shift\): .* --layers my-layers\.js\):$/);
    expect([empty, skeleton.slice(0, 3)]).toEqual([
      "",
      ["    // my-layers.js", "    export default ({ tf }) => [", "      class Shift extends tf.layers.Layer {"],
    ]);
    expect(stderr).toContain("          this.shiftBy = config.shiftBy; // 0.5 in the file\n");
    expect((await withLayers()).peakBytes).toBeGreaterThan(0);
  });

  it("is trained as its file says it is compiled, but for what the command says", async () => {
    const notes = async (...args: string[]) => (await memory("--layers", pathOf("layers.mjs"), ...args)).stdout;
    expect(await notes()).toContain(
      "note: the file is compiled with meanAbsoluteError and Adam at 0.001\n" +
        "note: the model is compiled: using its own losses and optimizer, and random targets\n",
    );
    expect(await notes("--optimizer", "sgd")).toContain("note: the model is compiled: using its own losses");
    const bytesOf = async (...args: string[]) => (await withLayers(...args)).snapshots.current[0].bytesByCategory;
    // Two moments of 15 weights, and two powers.
    expect((await bytesOf()).optimizerState).toBe(4 * (2 * 15 + 2));
    expect((await bytesOf("--loss", "mean")).optimizerState).toBe(4 * (2 * 15 + 2));
    // The learning rate alone.
    expect((await bytesOf("--optimizer", "sgd")).optimizerState).toBe(4);
  });

  it.each([
    ["plain.mjs", /plain\.mjs: its default export is not a function\. Write an ES module: export default/],
    ["none.mjs", /none\.mjs: its function does not return a list\. Write/],
    ["string.mjs", /One of `layers` is of type string: expected a class/],
    ["absent.mjs", /absent\.mjs: cannot be imported: .*Write an ES module/],
  ])("refuses %s for layers", async (name, message) => {
    const { code, stderr } = await memory("--layers", pathOf(name));
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it("may be a .keras archive or HDF5 with a model, of which no weights are read to tell memory", async () => {
    const files = unzipSync(readFileSync(fixtureOf("keras-3-files.zip")));
    const peakOf = async (name: string): Promise<number> => {
      writeFileSync(pathOf(name), files[name] as Uint8Array);
      return JSON.parse((await remat("memory", pathOf(name), "--format", "json")).stdout).peakBytes;
    };
    expect(await peakOf("films.h5")).toBe(await peakOf("films.keras"));
  });

  it.each([
    ["no model in it", "films.weights.h5", /films\.weights\.h5: This HDF5 file contains weights, but no model\. Save/],
    ["its end missing", "short.h5", /short\.h5: the HDF5 file: cut short, or not an HDF5 file of Keras/],
  ])("in HDF5 with %s is refused", async (_, name, message) => {
    const files = unzipSync(readFileSync(fixtureOf("keras-3-files.zip")));
    writeFileSync(pathOf(name), (files[name] ?? files["films.h5"]?.slice(0, 3000)) as Uint8Array);
    const { code, stderr } = await remat("memory", pathOf(name));
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it.each([
    ["--weights missing.h5", ["missing.h5"], /missing\.h5: cannot be read \(ENOENT/],
    ["--weights of a file without any", ["model.json"], /model\.json: contains no weights\. Name a \.weights\.h5/],
    [
      "weights of another model",
      ["films.h5"],
      /model\.json, .*films\.h5: the HDF5 file: .*weights of 3 layers .*Use the weights of this model/,
    ],
    [
      "some of the weight files",
      [],
      /half\.json: 1 of its 2 weight files are not beside it: b\.bin\. Copy/,
      "half.json",
    ],
  ] as const)("with %s is refused where it runs", async (_, [weights], message, name: string = "model.json") => {
    const files = unzipSync(readFileSync(fixtureOf("keras-3-files.zip")));
    writeFileSync(pathOf("films.h5"), files["films.h5"] as Uint8Array);
    const manifest = { weightsManifest: [{ paths: ["a.bin", "b.bin"], weights: [] }] };
    writeFileSync(pathOf("half.json"), JSON.stringify({ modelTopology: model, ...manifest }));
    writeFileSync(pathOf("a.bin"), "");
    const parts = { layers: pathOf("layers.mjs"), weights: weights && pathOf(weights), readsWeights: true };
    const load = async () => ((await kerasImporter.load(pathOf(name), parts)) as () => Promise<unknown>)();
    await expect(load()).rejects.toThrow(message);
  });

  it("alone has layers of its own: a module makes what it has", async () => {
    writeFileSync(pathOf("module.mjs"), "export default ({ tf }) => tf.sequential({ layers: [] });");
    const { code, stderr } = await remat("memory", pathOf("module.mjs"), "--layers", pathOf("layers.mjs"));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--layers .* is not a Keras model, .* Remove --layers/)]);
  });
});
