import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { describe, expect, it } from "vitest";
import { CheckpointedRun, parseCheckpoint, readCheckpoint } from "../src/index.js";

/** A transformer of four layers: embedding of 64, batch 8, sequences of 64 (see `fixtures`). */
const trace = readPyTorchTrace(
  JSON.parse(gunzipSync(readFileSync(new URL("./fixtures/plain-tf.json.gz", import.meta.url))).toString()),
);
const unitsOf = (text: string) => new CheckpointedRun(trace).unitsOf(parseCheckpoint(text));
const namesOf = (text: string) => unitsOf(text).map(({ fqn }) => fqn);
const outputOf = (fqn: string): number => {
  const ops = Array.from({ length: trace.ops.count }, (_, op) => op).filter(
    (op) => trace.ops.phase[op] === 0 && trace.opModule(op)?.fqn === fqn,
  );
  const [tensor] = trace.opOutputs(ops.at(-1)!);
  return trace.tensorShape(tensor).reduce((product, size) => product * size, 1);
};

describe("RematScope of Keras, as it is spelled there", () => {
  it.each([
    ['RematScope(mode="full")', { mode: "full" }],
    ["keras.RematScope()", { mode: "full" }],
    ["RematScope('full')", { mode: "full" }],
    ['RematScope(mode="larger_than")', { mode: "larger_than", outputSizeThreshold: 1024 }],
    ['RematScope("larger_than", 64)', { mode: "larger_than", outputSizeThreshold: 64 }],
    ['RematScope(mode="list_of_layers", layer_names=["a", \'b\'])', { mode: "list_of_layers", layerNames: ["a", "b"] }],
  ])("%s is read", (text, scope) => {
    expect(parseCheckpoint(text)).toEqual([{ modules: [], scope }]);
    const file = JSON.stringify({ schema: "checkpoint/1", checkpoint: parseCheckpoint(text) });
    expect(readCheckpoint(file)).toEqual(parseCheckpoint(text));
  });

  it.each([
    'RematScope(mode="some")',
    "RematScope(full)",
    'RematScope(mode="larger_than", output_size_threshold="many")',
    'RematScope(mode="list_of_layers")',
    'RematScope(mode="full", depth=3)',
    'RematScope(mode="full", mode="full")',
  ])("%s is refused, saying what would do", (text) => {
    expect(() => parseCheckpoint(text)).toThrow(/cannot read .*\. Expected RematScope\(mode="full"\), "activations"/);
  });

  it("refuses a mode that is none in a file", () => {
    const file = JSON.stringify({ schema: "checkpoint/1", checkpoint: [{ modules: [], scope: { mode: "most" } }] });
    expect(() => readCheckpoint(file)).toThrow(/one of full, activations, larger_than, list_of_layers/);
  });

  it("full is each layer: the modules that run with none inside, but for those that cannot", () => {
    const leaves = trace.modules.filter(({ leaf }) => leaf).map(({ fqn }) => fqn);
    const found = namesOf('RematScope(mode="full")');
    expect(found.length).toBeGreaterThan(10);
    expect(leaves).toEqual(expect.arrayContaining(found));
    for (const { saved } of unitsOf("RematScope()")) expect(saved).toEqual([]);
  });

  it("larger_than is each layer whose result has more elements", () => {
    const sizes = namesOf("RematScope()").map((fqn) => [fqn, outputOf(fqn)] as const);
    const thresholds = [...new Set(sizes.map(([, size]) => size))].sort((a, b) => a - b);
    expect(thresholds.length).toBeGreaterThan(1);
    for (const threshold of thresholds.slice(0, -1))
      expect(namesOf(`RematScope("larger_than", ${threshold})`)).toEqual(
        sizes.filter(([, size]) => size > threshold).map(([fqn]) => fqn),
      );
    expect(() => namesOf('RematScope("larger_than", 1000000000)')).toThrow(
      new RegExp(`no layer's output has more than 1000000000 elements; the largest has ${thresholds.at(-1)}`),
    );
  });

  it("list_of_layers is the layers of these names, wherever they are", () => {
    const [, , name] = namesOf("RematScope()").map((fqn) => fqn.split(".").at(-1)!);
    const found = namesOf(`RematScope("list_of_layers", layer_names=["${name}"])`);
    expect(found).toEqual(trace.modules.map(({ fqn }) => fqn).filter((fqn) => fqn.endsWith(`.${name}`)));
    expect(() => namesOf('RematScope("list_of_layers", layer_names=["nobody"])')).toThrow(
      /no module is named "nobody"/,
    );
  });

  it("activations is what these functions make, and nothing else of their layers", () => {
    const run = new CheckpointedRun(trace);
    const units = unitsOf('RematScope("activations")');
    expect(units.length).toBeGreaterThan(0);
    for (const unit of units) {
      const names = run.savedNames(unit).map((name) => name.replace(/#\d+$/, ""));
      expect(names.filter((name) => /relu|gelu|softmax|tanh|sigmoid|silu/.test(name))).toEqual([]);
    }
  });
});
