import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { selectBackend } from "@remat/backends/node";
import { withDispatchMode } from "@remat/dispatch-hook";
import { heldPeak } from "@remat/memory";
import { traceFakeStep } from "@remat/tracer";
import { loadGraphModelSync } from "@tensorflow/tfjs-converter";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryMeter } from "../../../packages/checkpoint/src/memory-meter.js";
import { loadModel } from "../src/load-model.js";
import { modelSource } from "../src/model-source.js";
import { dynamicGraph, graphs, reshapedGraph, writeGraph } from "./graph-models.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-graph-model-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What is held at most while tfjs-converter itself executes the graph. */
function measure(path: string, batch: number): number {
  const json = JSON.parse(readFileSync(path, "utf8")) as tf.io.ModelJSON;
  const [{ paths, weights }] = json.weightsManifest;
  const { buffer, byteOffset, length } = readFileSync(join(dirname(path), paths[0]));
  const weightData = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
  const { modelTopology, signature, format } = json;
  const model = loadGraphModelSync({
    modelTopology,
    signature,
    format,
    weightSpecs: weights,
    weightData,
  } as tf.io.ModelArtifacts);
  const [{ name, shape = [] }] = model.inputs;
  const x = tf.randomNormal(shape.map((size) => (size < 0 ? batch : size)));
  const meter = new MemoryMeter();
  withDispatchMode(meter, () => {
    meter.count([x, ...Object.values(model.weights).flat()]);
    tf.dispose(model.execute({ [name]: x }, model.outputNodes));
  });
  model.dispose();
  x.dispose();
  return meter.peakBytes;
}

function holdsWhatIsPredicted(backend: "cpu" | "tensorflow"): void {
  it.each(Object.keys(graphs))("%s", async (name) => {
    const path = writeGraph(join(folder, name), graphs[name]);
    const model = await loadModel({ ...modelSource(path), gives: "model", data: undefined });
    for (const batch of [1, 5]) {
      const trace = await traceFakeStep(model, { predict: true, batch, backend });
      expect(heldPeak(trace).peakBytes).toBe(measure(path, batch));
    }
  });
}

describe("a graph model holds what is predicted to the byte, on cpu", () => {
  beforeAll(() => selectBackend({ backend: "cpu" }));
  holdsWhatIsPredicted("cpu");
});

describe.runIf(process.env["NATIVE_APP"] !== undefined)(
  "a graph model holds what is predicted to the byte, on tensorflow",
  () => {
    beforeAll(() => selectBackend({ backend: "tensorflow", from: process.env["NATIVE_APP"]! }));
    holdsWhatIsPredicted("tensorflow");
  },
);

describe("remat estimate --predict of a graph model", () => {
  it("counts weights and multiply-adds, and names the largest batch that fits", async () => {
    const path = writeGraph(join(folder, "counted"), graphs["perceptron"]);
    const { stdout, code } = await remat("estimate", path, "--predict", "--format", "json");
    expect(code).toBe(0);
    const { total, verdict, header } = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
    expect(total).toMatchObject({ parameters: 0, buffers: 8 * 16 + 16 + 16 * 4 + 4, multiplyAdds: 8 * 16 + 16 * 4 });
    expect(verdict).toMatchObject({ fits: true, largestBatch: { batch: expect.any(Number) as number } });
    expect(header).toMatchObject({ model: "counted" });
  });

  it.each<[what: string, arrange: () => string, options: readonly string[], message: RegExp]>([
    [
      "a dynamic op",
      () => writeGraph(join(folder, "dynamic"), dynamicGraph),
      ["--predict"],
      /node y is a Where, whose result depends on values/,
    ],
    [
      "a shape that is computed",
      () => writeGraph(join(folder, "reshaped"), reshapedGraph),
      ["--predict"],
      /values of a fake tensor made by kernel Reverse were read/,
    ],
    [
      "missing weights",
      () => {
        const path = writeGraph(join(folder, "missing"), graphs["perceptron"]);
        rmSync(join(dirname(path), "group1-shard1of1.bin"));
        return path;
      },
      ["--predict"],
      /of its 1 weight files 1 are not beside it: group1-shard1of1\.bin\. Copy them there/,
    ],
    ["training", () => writeGraph(join(folder, "trained"), graphs["perceptron"]), [], /no trainable weight.*--predict/],
  ])("refuses %s in one line", async (_what, arrange, options, message) => {
    const { code, stderr } = await remat("estimate", arrange(), ...options);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message) as string]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});
