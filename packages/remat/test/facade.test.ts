import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { machineMemoryBytes } from "@remat/dispatch-hook/backends";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  InfeasibleBudgetError,
  memoryOf,
  plan,
  readTrace,
  record,
  releaseEarly,
  withMemoryBudget,
  writeTrace,
} from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));
afterEach(() => tf.disposeVariables());

/** A network whose activations take more than its weights; the same numbers each time. */
function network(compile: Partial<tf.ModelCompileArgs> = {}): tf.Sequential {
  const model = tf.sequential({ name: "net" });
  for (let i = 0; i < 6; i++)
    model.add(
      tf.layers.dense({
        name: `hidden${i}`,
        units: 16,
        activation: i % 2 === 0 ? "relu" : "sigmoid",
        kernelInitializer: tf.initializers.glorotNormal({ seed: i + 1 }),
        ...(i === 0 && { inputShape: [16] }),
      }),
    );
  model.add(
    tf.layers.dense({
      name: "out",
      units: 4,
      activation: "softmax",
      kernelInitializer: tf.initializers.glorotNormal({ seed: 9 }),
    }),
  );
  model.compile({ optimizer: tf.train.adam(0.02), loss: "categoricalCrossentropy", metrics: ["accuracy"], ...compile });
  return model;
}

const samples = 128;
const x = () => tf.randomUniform([samples, 16], 0, 1, "float32", 5);
const y = () => tf.oneHot(tf.randomUniformInt([samples], 0, 4, 6), 4).toFloat();
const fit = (model: tf.LayersModel, epochs = 3) => model.fit(x(), y(), { batchSize: samples, epochs, shuffle: false });
const weightsOf = (model: tf.LayersModel) => model.getWeights().map((weight) => Array.from(weight.dataSync()));

/** Unmodified training. */
async function stock(epochs = 3): Promise<number[][]> {
  const model = network();
  await fit(model, epochs);
  return weightsOf(model);
}

describe("memoryOf", () => {
  it("predicts the pass of fit to the byte, layer by layer, and leaves the model as it was", async () => {
    const model = network();
    await fit(model, 1);
    const before = { weights: weightsOf(model), memory: tf.memory(), optimizer: model.optimizer };
    const { peakBytes, bytesByCategory, at, largest, trace } = await memoryOf(model, { batch: samples });
    expect(weightsOf(model)).toEqual(before.weights);
    expect(tf.memory().numTensors).toBe(before.memory.numTensors);
    expect(model.optimizer).toBe(before.optimizer);
    expect(Object.values(bytesByCategory).reduce((sum, bytes) => sum + bytes)).toBe(peakBytes);
    expect(at?.opName).toBeDefined();
    expect(largest.some(({ maker }) => maker?.module?.startsWith("net."))).toBe(true);
    expect(trace.header.notes?.[0]).toMatch(/the model is compiled: using its own losses and optimizer/);

    const real = await record(async () => void (await model.trainOnBatch(x(), y())), { model });
    const passOf = (kernels: string[]) =>
      kernels.slice(kernels.indexOf("BatchMatMul"), kernels.lastIndexOf("BatchMatMul"));
    const kernelsOf = (t: typeof trace) => passOf(Array.from({ length: t.ops.count }, (_, op) => t.opName(op)));
    expect(kernelsOf(trace)).toEqual(kernelsOf(real));
    // Continued training matches the baseline's.
    const other = network();
    await fit(other, 1);
    await other.trainOnBatch(x(), y());
    await other.trainOnBatch(x(), y());
    expect(weightsOf(model)).toEqual(weightsOf(other));
  });

  it("is of the README's model what the README says, and what a step of it holds", async () => {
    const model = tf.sequential();
    for (let i = 0; i < 12; i++) model.add(tf.layers.dense({ units: 32, activation: "sigmoid", inputShape: [32] }));
    model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    const { peakBytes } = await memoryOf(model, { batch: 512 });
    for (const page of ["../../../README.md", "../README.md"])
      expect(readFileSync(new URL(page, import.meta.url), "utf8")).toContain(`// ${peakBytes}`);
    const [x, y] = [tf.randomNormal([512, 32]), tf.randomNormal([512, 32])];
    expect((await memoryOf(await record(() => model.trainOnBatch(x, y)))).peakBytes).toBe(peakBytes);
    tf.dispose([x, y]);
  });

  it("takes the step of a function for real, and an answer of record as it is", async () => {
    const model = network();
    const [inputs, targets] = [x(), y()];
    const ofStep = await memoryOf(() => model.trainOnBatch(inputs, targets));
    const trace = await record(() => model.trainOnBatch(inputs, targets), { model });
    const ofTrace = await memoryOf(trace, { limit: 2 });
    expect(ofTrace.peakBytes).toBe(ofStep.peakBytes);
    expect(ofTrace.largest).toHaveLength(2);
    expect(ofTrace.trace).toBe(trace);
    // As what remat record writes, it is judged by the memory that there is here.
    expect(trace.header.deviceMemoryBytes).toBe(machineMemoryBytes());
    expect(machineMemoryBytes()).toBeLessThanOrEqual(totalmem());
    const predicted = await memoryOf(model, { batch: samples });
    expect(predicted.bytesByCategory.parameter).toBe(ofTrace.bytesByCategory.parameter);
    expect(predicted.bytesByCategory.optimizerState).toBe(ofTrace.bytesByCategory.optimizerState);
    expect(predicted.bytesByCategory.activation).toBe(ofTrace.bytesByCategory.activation);
  });

  it("refuses a function that makes a model, and says what to give", async () => {
    await expect(memoryOf(() => network())).rejects.toMatchObject({
      code: "STEP_FUNCTION",
      message: expect.stringContaining("Pass the model itself"),
    });
  });
});

describe("plan", () => {
  it("plans the step of fit, which a budget follows from the first batch on, with stock's weights to the bit", async () => {
    const model = network();
    const planned = await plan(model, { batch: samples, budget: "70%", planningMs: 500 });
    expect(planned.predicted.peakBytes).toBeLessThanOrEqual(
      0.7 * (await memoryOf(model, { batch: samples })).peakBytes,
    );
    const seen: unknown[] = [];
    const budget = planned.predicted.peakBytes + 200_000;
    await withMemoryBudget(
      budget,
      async (execution) => {
        await model.fit(x(), y(), {
          batchSize: samples,
          epochs: 3,
          shuffle: false,
          callbacks: { onBatchEnd: async () => void seen.push(execution.lastStep?.predictedBytes) },
        });
      },
      { plan: planned },
    );
    expect(seen).toHaveLength(3);
    expect(seen.every((bytes) => typeof bytes === "number")).toBe(true);
    expect(weightsOf(model)).toEqual(await stock());
  });

  it("says what is the smallest budget, where none can be kept", async () => {
    const found = await plan(network(), { batch: samples, budget: 1000, planningMs: 200 }).catch(
      (error: unknown) => error,
    );
    expect(found).toBeInstanceOf(InfeasibleBudgetError);
    const { smallestBudgetBytes, code } = found as InfeasibleBudgetError;
    expect(code).toBe("BUDGET_INFEASIBLE");
    expect(smallestBudgetBytes).toBeGreaterThan(1000);
    const within = await plan(network(), { batch: samples, budget: smallestBudgetBytes, planningMs: 2000 });
    expect(within.predicted.peakBytes).toBeLessThanOrEqual(smallestBudgetBytes);
  });

  it.each(["0%", "lots", -1])("refuses %s as a budget before any step is taken", async (budget) => {
    let steps = 0;
    await expect(plan(() => steps++, { budget })).rejects.toMatchObject({ code: "BUDGET" });
    expect(steps).toBe(0);
  });
});

describe("record", () => {
  it("takes the steps that it says, and gives a file that reads back", async () => {
    const model = network();
    let taken = 0;
    const [inputs, targets] = [x(), y()];
    const trace = await record(() => (taken++, model.trainOnBatch(inputs, targets)), {
      model,
      steps: 2,
      stepsBefore: 3,
    });
    expect(taken).toBe(5);
    expect(trace.header).toMatchObject({ model: "net", mode: "real", backend: "cpu", allocationUnitBytes: 1 });
    expect(trace.modules.map(({ fqn }) => fqn)).toContain("net.out");
    const again = await readTrace(writeTrace(trace, { gzip: true }));
    expect((await memoryOf(again)).peakBytes).toBe((await memoryOf(trace)).peakBytes);
  });

  it("knows what an optimizer of one's own loop keeps from the first op on", async () => {
    const w = tf.variable(tf.ones([64, 64]));
    const input = tf.ones([8, 64]);
    const optimizer = tf.train.adam();
    const trace = await record(() =>
      optimizer.minimize(() => tf.sum(tf.matMul(input, w as unknown as tf.Tensor2D)))?.dispose(),
    );
    const { bytesByCategory } = await memoryOf(trace);
    expect(bytesByCategory.parameter).toBe(64 * 64 * 4);
    expect(bytesByCategory.optimizerState).toBeGreaterThanOrEqual(2 * 64 * 64 * 4);
    w.dispose();
  });

  it("passes on what a step throws, and the engine is as it was", async () => {
    const { runKernel } = tf.engine();
    await expect(
      record(() => {
        throw new Error("mine");
      }),
    ).rejects.toThrow("mine");
    expect(tf.engine().runKernel).toBe(runKernel);
  });

  it("is refused numbers of steps that are none", async () => {
    await expect(record(() => {}, { steps: 0 })).rejects.toMatchObject({ code: "STEP_REQUEST" });
  });
});

describe("releaseEarly", () => {
  it("lowers what a recorded step holds, and its weights are stock's", async () => {
    const model = network();
    const [inputs, targets] = [x(), y()];
    const step = () => model.trainOnBatch(inputs, targets);
    const before = await memoryOf(step);
    const stop = releaseEarly();
    const after = await memoryOf(step);
    stop();
    expect(after.peakBytes).toBeLessThan(before.peakBytes);
    const other = network();
    for (let i = 0; i < 4; i++) await other.trainOnBatch(inputs, targets);
    expect(weightsOf(model)).toEqual(weightsOf(other));
  });
});
