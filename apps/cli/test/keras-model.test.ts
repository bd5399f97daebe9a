import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

/** A Keras model with a layer that is nobody's, compiled with Adam, as Keras 3 writes it. */
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
    expect(said).toMatch(/tfjs-layers cannot make layer 'shift' \(Shift\): .* --layers my-layers\.js:$/);
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
        "note: the model is compiled: its own losses and optimizer are taken, and random targets\n",
    );
    expect(await notes("--optimizer", "sgd")).toContain("note: the model is compiled: its own losses are taken");
    const bytesOf = async (...args: string[]) => (await withLayers(...args)).snapshots.current[0].bytesByCategory;
    // Two moments of 15 weights, and two powers.
    expect((await bytesOf()).optimizerState).toBe(4 * (2 * 15 + 2));
    expect((await bytesOf("--loss", "mean")).optimizerState).toBe(4 * (2 * 15 + 2));
    // The learning rate alone.
    expect((await bytesOf("--optimizer", "sgd")).optimizerState).toBe(4);
  });

  it.each([
    ["plain.mjs", /plain\.mjs: has no function as its default export\. Expected an ES module: export default/],
    ["none.mjs", /none\.mjs: its function returns no list\. Expected/],
    ["string.mjs", /One of `layers` is of type string: expected a class/],
    ["absent.mjs", /absent\.mjs: cannot be imported: .*Expected an ES module/],
  ])("refuses %s for layers", async (name, message) => {
    const { code, stderr } = await memory("--layers", pathOf(name));
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it("in HDF5 is refused with how to come to a file that can be read", async () => {
    writeFileSync(pathOf("model.h5"), Buffer.from("\u0089HDF\r\n\u001a\n", "latin1"));
    const { code, stderr } = await remat("memory", pathOf("model.h5"));
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/model\.h5: .*HDF5 file: .*model\.to_json\(\), or .*save it as model\.keras/),
    ]);
  });

  it("alone has layers of its own: a module makes what it has", async () => {
    writeFileSync(pathOf("module.mjs"), "export default ({ tf }) => tf.sequential({ layers: [] });");
    const { code, stderr } = await remat("memory", pathOf("module.mjs"), "--layers", pathOf("layers.mjs"));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--layers .* is no Keras model\. Leave --layers out/)]);
  });
});
