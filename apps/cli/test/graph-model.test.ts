import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withDispatchMode } from "@remat/dispatch-hook";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { heldPeak } from "@remat/memory";
import { nativeApp } from "@remat/testkit";
import { type ModelFactory, tfNamespace, traceFakeStep } from "@remat/tracer";
import { type GraphModel, loadGraphModelSync } from "@tensorflow/tfjs-converter";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryMeter } from "../../../packages/checkpoint/src/memory-meter.js";
import { loadModel } from "../src/load-model.js";
import { modelSource } from "../src/model-source.js";
import { readGraph } from "./fixtures/read-graph.js";
import { graphs, refusedGraphs, writeGraph } from "./graph-models.js";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-graph-model-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Peak memory while tfjs-converter itself executes the graph. */
async function measure(path: string, batch: number): Promise<number> {
  const model = loadGraphModelSync(readGraph(path) as tf.io.ModelArtifacts);
  const [{ name, shape = [], dtype }] = model.inputs;
  const sizes = shape.map((size, i) => (size >= 0 ? size : i === 0 ? batch : 224));
  const x = dtype === "int32" ? tf.ones(sizes, "int32") : tf.randomNormal(sizes);
  const meter = new MemoryMeter();
  await withDispatchMode(meter, async () => {
    meter.count([x, ...Object.values(model.weights).flat()]);
    // It refuses to execute a choice only once it has begun to.
    const choice = /"op":"(?:Stateless)?If"/.test(JSON.stringify(readGraph(path)));
    const inputs = { [name]: x };
    tf.dispose(await (choice ? model.executeAsync(inputs, model.outputNodes) : executed(model, inputs)));
  });
  model.dispose();
  x.dispose();
  return meter.peakBytes;
}

/** As tfjs-converter says itself that it is to be executed. */
function executed(
  model: Pick<GraphModel, "execute" | "executeAsync" | "outputNodes">,
  inputs: tf.NamedTensorMap,
): tf.Tensor | tf.Tensor[] | Promise<tf.Tensor | tf.Tensor[]> {
  try {
    return model.execute(inputs, model.outputNodes);
  } catch (error) {
    expect((error as Error).message).toContain("Please use model.executeAsync() instead");
    return model.executeAsync(inputs, model.outputNodes);
  }
}

/**
 * Handwritten graphs, those converted by tensorflowjs (fixtures/converted/make.py), and those of the folder
 * REMAT_GRAPHS, if it is set.
 */
const folders = [
  fileURLToPath(new URL("fixtures/converted", import.meta.url)),
  process.env["REMAT_GRAPHS"] ?? [],
].flat();
const converted = folders.flatMap((within) =>
  readdirSync(within, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => [`converted ${name}`, () => modelFileOf(join(within, name))] as const),
);
const modelFileOf = (within: string): string =>
  join(within, readdirSync(within).find((name) => name.endsWith("model.json"))!);
const paths = new Map<string, () => string>([
  ...Object.keys(graphs).map((name) => [name, () => writeGraph(join(folder, name), graphs[name])] as const),
  ...converted,
]);
/** A large one of REMAT_GRAPHS takes minutes on cpu. */
const timeoutMs = 300_000;

function holdsWhatIsPredicted(backend: "cpu" | "tensorflow"): void {
  it.each([...paths])(
    "%s",
    async (_name, write) => {
      const path = write();
      const model = await loadModel({ ...modelSource(path), gives: "model", data: undefined });
      for (const batch of [1, 5]) {
        const trace = await traceFakeStep(model, { predict: true, batch, backend });
        expect(heldPeak(trace).peakBytes).toBe(await measure(path, batch));
      }
    },
    timeoutMs,
  );
}

describe("a graph model holds what is predicted to the byte, on cpu", () => {
  beforeAll(() => selectBackend({ backend: "cpu" }));
  holdsWhatIsPredicted("cpu");
  it.each(["sgd", "adam"])("and as the frozen base of a head that %s trains", (name) => trainOnFeatures("cpu", name));
});

describe.runIf(nativeApp() !== undefined)("a graph model holds what is predicted to the byte, on tensorflow", () => {
  beforeAll(() => selectBackend({ backend: "tensorflow", from: nativeApp()! }));
  holdsWhatIsPredicted("tensorflow");
  it.each(["sgd", "adam"])("and as the frozen base of a head that %s trains", (name) =>
    trainOnFeatures("tensorflow", name),
  );
});

/** Memory of a head in an unmodified step on a graph's features, and the prediction for it. */
async function trainOnFeatures(backend: "cpu" | "tensorflow", optimizerName: string): Promise<void> {
  process.env["REMAT_TEST_GRAPH"] = writeGraph(join(folder, "base"), graphs["convolutions, flattened"]);
  const { default: build } = (await import("./fixtures/transfer-model.js")) as { default: ModelFactory };
  const request = { batch: 3, optimizer: optimizerName, backend };
  const predicted = heldPeak(await traceFakeStep(build, request));
  const scope = <T>(_: string, run: () => T): T => run();
  const {
    forward,
    loss,
    inputs,
    targets,
    parameters = {},
    buffers = {},
  } = await build({
    tf: tfNamespace(),
    size: "full",
    batch: 3,
    scope,
  });
  const optimizer = tf.train[optimizerName as "sgd" | "adam"](0.01);
  const variables = Object.values(parameters);
  const step = (): tf.Scalar => loss!(forward!(inputs as never, { training: true }) as never, targets as never);
  const meter = new MemoryMeter();
  const count = (): void =>
    meter.count([inputs, targets, ...variables, ...Object.values(buffers)].flat() as tf.Tensor[]);
  withDispatchMode(meter, () => {
    for (let i = 0; i < 2; i++) {
      count();
      meter.count(Object.values(tf.engine().registeredVariables));
      meter.reset();
      optimizer.minimize(step, false, variables);
    }
  });
  expect(predicted.peakBytes).toBe(meter.peakBytes);
  expect(predicted.bytesByCategory).toMatchObject({ parameter: 4 * 5 * 3 });
  optimizer.dispose();
  tf.dispose([inputs, targets, parameters, buffers] as tf.TensorContainer);
}

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

  it("tells it node by node, in the scopes of their names", async () => {
    const path = writeGraph(join(folder, "scoped"), graphs["shapes as Keras computes them, in scopes"]);
    const { stdout } = await remat("estimate", path, "--predict", "--batch", "3", "--format", "json");
    const { layers } = JSON.parse(stdout) as { layers: readonly Record<string, unknown>[] };
    const told = layers.map(({ fqn, kind, buffers, multiplyAdds }) => [fqn, kind, buffers, multiplyAdds]);
    expect(told).toEqual([
      ["graph.flat.Shape", "Shape", 0, 0],
      ["graph.flat.batch", "StridedSlice", 1 + 1, 0],
      ["graph.flat.shape", "Pack", 1, 0],
      ["graph.flat.Reshape", "Reshape", 0, 0],
      ["graph.dense.MatMul", "MatMul", 24 * 5, 3 * 24 * 5],
      ["graph.dense.Relu", "Relu", 0, 0],
    ]);
  });

  it.each<[what: string, arrange: () => string, options: readonly string[], message: RegExp]>([
    [
      "a dynamic op",
      () => writeGraph(join(folder, "dynamic"), refusedGraphs.where),
      ["--predict"],
      /node y is a Where, whose output shape depends on values.*remat record -- node app\.js/,
    ],
    [
      "a loop that values end",
      () => writeGraph(join(folder, "loop"), refusedGraphs.loop),
      ["--predict"],
      /node steps is a StatelessWhile, whose output shape depends on values/,
    ],
    [
      "an op that tfjs-converter has not",
      () => writeGraph(join(folder, "foreign"), refusedGraphs.foreign),
      ["--predict"],
      /node y is a HouseOp, which tfjs-converter does not support/,
    ],
    [
      "missing weights",
      () => {
        const path = writeGraph(join(folder, "missing"), graphs["perceptron"]);
        rmSync(join(dirname(path), "group1-shard2of6.bin"));
        return path;
      },
      ["--predict"],
      /1 of its 6 weight files are not beside it: group1-shard2of6\.bin\. Copy them there/,
    ],
    ["training", () => writeGraph(join(folder, "trained"), graphs["perceptron"]), [], /no trainable weight.*--predict/],
  ])("refuses %s in one line", async (_what, arrange, options, message) => {
    const { code, stderr } = await remat("estimate", arrange(), ...options);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message) as string]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});
