import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { sampledCases } from "@remat/testkit";
import { readPlan } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-wasm";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelSource, modelSource } from "../src/model-source.js";
import { surroundingsOf } from "../src/run/execution.js";
import { runSteps } from "../src/run/run-steps.js";
import type { Execution, StepJob } from "../src/run/step-job.js";
import { stepOfPlan } from "../src/run/step-of-plan.js";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
/** Half a minute each: asked for by whoever changes how plans are followed. */
const isLarge = (name: string): boolean => ["efficientnet-b0", "resnet50"].includes(name);
const allExamples = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(join(examples, entry.name)).includes("model.js"))
  .map(({ name }) => name)
  .filter((name) => process.env["REMAT_LARGE_MODELS"] !== undefined || !isLarge(name));
const exampleNames = sampledCases(allExamples, 4);
/** Convolutions, on which the cpu backend spends minutes. */
const onWasm = new Set(["efficientnet-b0", "mobilenet-v1", "mobilenet-v2", "resnet50"]);
type BackendOfTest = "cpu" | "wasm";
/** A sample: the examples hold the others. */
const kerasNames = ["mobilenet_v1.model.json"];

const folder = mkdtempSync(join(tmpdir(), "remat-plan-then-run-"));
const cacheBefore = process.env["REMAT_CACHE_DIR"];
beforeAll(async () => {
  await tf.setBackend("cpu");
  process.env["REMAT_CACHE_DIR"] = folder;
});
afterAll(() => {
  if (cacheBefore === undefined) delete process.env["REMAT_CACHE_DIR"];
  else process.env["REMAT_CACHE_DIR"] = cacheBefore;
  rmSync(folder, { recursive: true, force: true });
});

/** The Keras file of that name with images of 32 × 32 pixels, on which it trains within seconds; global pooling is at its end. */
function smallKeras(name: string): string {
  const path = join(folder, name);
  // Keras notes beside each layer the shapes with which it was built.
  const smaller: unknown = JSON.parse(readFileSync(join(examples, "keras", name), "utf8"), (key, value: unknown) =>
    key === "build_config" ? undefined : key === "batch_input_shape" ? [null, 32, 32, 3] : value,
  );
  writeFileSync(path, JSON.stringify(smaller));
  return path;
}

function keras(activation: string): string {
  const path = join(folder, `${activation}.model.json`);
  writeFileSync(path, JSON.stringify(twoLayers(activation)));
  return path;
}

/** The plan of `remat plan MODEL` within that budget, or else within the next larger one that can be kept. */
async function planOf(model: string, backend: BackendOfTest, ...args: readonly string[]): Promise<string> {
  const path = join(folder, "plan.json");
  let problem = "";
  for (const budget of ["40%", "70%", "100%"]) {
    const { code, stderr } = await remat(
      "plan",
      ...[model, "--backend", backend, "--budget", budget, "--iterations", "300", "-o", path, ...args],
    );
    if (code === 0) return path;
    problem = stderr;
  }
  throw new Error(`no plan of ${model}: ${problem}`);
}

/** Steps of the model as the plan says that they are to be taken, nothing else being said. */
async function stepsOf(model: string, backend: BackendOfTest, planPath: string, execution: Execution) {
  await selectBackend({ for: "training", backend });
  const { request } = stepOfPlan(readFileSync(planPath, "utf8"), planPath, {});
  const source: StepJob["source"] = { ...(modelSource(model) as ModelSource<"model">), data: undefined, request };
  const job: StepJob = {
    source,
    backend: { backend, path: "" },
    execution,
    steps: 2,
    digest: true,
    read: [],
    record: false,
  };
  return runSteps(job, () => surroundingsOf(job));
}

async function comparePlannedWithStock(model: string, backend: BackendOfTest, ...args: readonly string[]) {
  const path = await planOf(model, backend, ...args);
  const text = readFileSync(path, "utf8");
  const { predicted } = readPlan(text);
  const planned = await stepsOf(model, backend, path, { kind: "plan", plan: text });
  const stock = await stepsOf(model, backend, path, { kind: "stock" });
  // Names are of one process, where the second model's variables have other ones.
  const values = ({ steps }: typeof stock) =>
    steps.map(({ loss, gradients = {}, weights = {} }) => [loss, Object.values(gradients), Object.values(weights)]);
  expect(values(planned)).toEqual(values(stock));
  const peak = ({ steps }: typeof stock) => Math.max(...steps.map(({ peakBytes = 0 }) => peakBytes));
  expect(peak(planned)).toBe(predicted.peakBytes);
  expect(peak(stock)).toBe(predicted.recordedPeakBytes);
}

describe("the step that a plan is for is taken as it was planned: peaks to the byte, values of stock to the bit", () => {
  it.each(exampleNames)(
    "%s",
    (name) =>
      comparePlannedWithStock(join(examples, name, "model.js"), onWasm.has(name) ? "wasm" : "cpu", "--size", "tiny"),
    300_000,
  );

  it.each(kerasNames)("%s", (name) => comparePlannedWithStock(smallKeras(name), "wasm"));

  it.each([
    ["softmax", ["--optimizer", "adam", "--batch", "16"]],
    ["linear", ["--optimizer", "momentum", "--loss", "mean", "--unit", "512"]],
    ["softmax", ["--optimizer", "none", "--seed", "7", "--group", "none"]],
  ])("two layers with %s and %j", (activation, args) => comparePlannedWithStock(keras(activation), "cpu", ...args));
});

describe("remat run --plan", () => {
  const stepsOfPlans: readonly (readonly [string, string, readonly string[]])[] = [
    ["shared layers", "shared-layers/model.js", ["--size", "tiny", "--optimizer", "adam", "--unit", "64"]],
    ["foo", "foo/model.js", []],
  ];
  it.each(sampledCases(stepsOfPlans, 2))("takes the step from the plan of %s, and says so", async (_, model, args) => {
    const path = await planOf(join(examples, model), "cpu", ...args);
    const run = await remat(
      "run",
      join(examples, model),
      "--plan",
      path,
      "--steps",
      "2",
      "--verify",
      "--format",
      "json",
    );
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" });
    const { predicted, measured, stock, verification, notes, backend } = JSON.parse(run.stdout);
    const plan = readPlan(readFileSync(path, "utf8"));
    expect(measured.peakBytes).toBe(predicted.peakBytes);
    expect([predicted.peakBytes, stock.peakBytes]).toEqual([
      plan.predicted.peakBytes,
      plan.predicted.recordedPeakBytes,
    ]);
    expect(verification).toMatchObject({ isEqual: true });
    expect(notes[0]).toContain(`the step is taken from ${path}`);
    expect(backend).toContain("cpu");
  });

  it("takes the batch from the file that the plan was made with, or another of the same shapes", async () => {
    const batchIn = (name: string, value: number): string => {
      const path = join(folder, name);
      const filled = (n: number, m: number) => Array.from({ length: n }, () => new Array<number>(m).fill(value));
      writeFileSync(path, JSON.stringify({ inputs: filled(6, 32), targets: filled(6, 5) }));
      return path;
    };
    const model = keras("linear");
    const zeros = batchIn("zeros.json", 0);
    const path = await planOf(model, "cpu", "--data", zeros);
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await remat("run", model, "--plan", path, "--format", "json", ...args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return JSON.parse(stdout);
    };
    // Nothing in, nothing expected: without biases that is a loss of zero.
    const { losses, batch, predicted, measured, notes } = await run("--steps", "2");
    expect({ losses, batch, peakBytes: measured.peakBytes }).toEqual({
      losses: [0, 0],
      batch: 6,
      peakBytes: predicted.peakBytes,
    });
    expect(notes[0]).toContain(`data ${zeros}`);
    const ones = await run("--steps", "1", "--data", batchIn("ones.json", 1));
    expect(ones.losses[0]).toBeGreaterThan(0);
  });

  it("takes a backend that works here where the plan's does not, and predicts for that one", async () => {
    const model = keras("softmax");
    const path = join(folder, "native.plan.json");
    expect(await remat("plan", model, "--budget", "100%", "--iterations", "50", "-o", path)).toMatchObject({ code: 0 });
    expect(readPlan(readFileSync(path, "utf8")).subject.backend).toBe("tensorflow");
    const run = await remat("run", model, "--plan", path, "--steps", "2", "--verify", "--format", "json");
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" });
    const { predicted, measured, backend, verification } = JSON.parse(run.stdout);
    expect(backend).toMatch(
      /^@tensorflow\/tfjs-backend-wasm \(neither @tensorflow\/tfjs-node\S* .*works here; remat doctor/,
    );
    // The plan's frees are based on another backend's buffers. A buffer that is shared only here is freed when the
    // engine frees it.
    expect(measured.peakBytes).toBe(predicted.peakBytes);
    expect(verification).toMatchObject({ isEqual: true });
  });

  it.each([
    [["--batch", "5"], /--batch 5 contradicts --plan .*plan\.json, which is for batch 4\. Remove --batch/],
    [["--optimizer", "sgd"], /--optimizer sgd contradicts --plan .*, which is for optimizer adam/],
    [["--loss", "sum"], /--loss sum contradicts --plan .*, which is for the model's own loss/],
    [["--unit", "512"], /--unit 512 contradicts --plan .*, which is for unit 1\./],
    [["--backend", "wasm"], /--backend wasm contradicts --plan .*, which is for backend cpu/],
  ])("refuses %j against the plan, naming both", async (args, message) => {
    const model = keras("softmax");
    const path = await planOf(model, "cpu", "--batch", "4", "--optimizer", "adam");
    const run = await remat("run", model, "--plan", path, ...args);
    expect([run.code, run.stdout]).toEqual([2, ""]);
    expect(run.stderr).toMatch(message);
  });
});
