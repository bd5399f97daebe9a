import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { applyPlan, withMemoryBudget } from "@remat/checkpoint";
import { readPlan } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import * as tfCore from "@tensorflow/tfjs-core";
import * as tfLayers from "@tensorflow/tfjs-layers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-plan-then-fit-"));
beforeAll(() => tfCore.setBackend("cpu"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program's own model: a factory for `remat plan`, a function for the program. */
const module = `
export const build = (tf) => {
  const dense = (units, seed, more = {}) =>
    tf.layers.dense({ units, activation: "tanh", kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });
  const model = tf.sequential({ name: "net", layers: [
    dense(16, 1, { inputShape: [8] }), tf.layers.batchNormalization(), dense(16, 2), dense(16, 3), dense(16, 4),
    tf.layers.dropout({ rate: 0.2, seed: 5 }), dense(16, 6), dense(3, 7, { activation: "softmax" }),
  ] });
  model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy", metrics: ["accuracy"] });
  return model;
};
export default ({ tf }) => build(tf);
`;

it("a plan that remat plan makes of a compiled model is followed by its fit, in a program of one's own", async () => {
  const path = join(folder, "model.mjs");
  const planPath = join(folder, "plan.json");
  writeFileSync(path, module);
  let problem = "no budget";
  // The smallest of these that can be kept.
  for (const budget of ["18%", "20%", "22%", "25%", "28%"])
    if (problem !== "")
      problem = (
        await remat(
          ...[
            "plan",
            path,
            "--backend",
            "cpu",
            "--batch",
            "256",
            "--budget",
            budget,
            "--iterations",
            "300",
            "-o",
            planPath,
          ],
        )
      ).stderr;
  const plan = readPlan(readFileSync(planPath, "utf8"));
  expect(plan.steps.some(({ isRecomputed }) => isRecomputed)).toBe(true);

  const { build } = (await import(pathToFileURL(path).href)) as { build: (tf: object) => tfLayers.LayersModel };
  const x = tfCore.randomNormal([512, 8], 0, 1, "float32", 7);
  const labels = tfCore.tensor1d(
    Int32Array.from({ length: 512 }, (_, i) => i % 3),
    "int32",
  );
  const y = tfCore.cast(tfCore.oneHot(labels, 3), "float32");
  const fit = async (model: tfLayers.LayersModel) => {
    await model.fit(x, y, { batchSize: 256, epochs: 2, shuffle: false, verbose: 0 });
    return model.getWeights().map((weight) => Buffer.from(weight.dataSync().slice().buffer).toString("base64"));
  };
  const stock = await fit(build({ ...tfCore, ...tfLayers }));

  const execution = applyPlan(plan);
  try {
    expect(await fit(build({ ...tfCore, ...tfLayers }))).toEqual(stock);
    expect(execution.lastStep).toMatchObject({ mismatch: undefined, recomputedOnTouch: 0 });
    expect(execution.lastStep?.recomputedOps).toBeGreaterThan(0);
  } finally {
    execution.close();
  }

  // The program also keeps the data of all batches alive.
  const budgetBytes = plan.predicted.peakBytes + 100_000;
  await withMemoryBudget(
    budgetBytes,
    async (budget) => {
      expect(await fit(build({ ...tfCore, ...tfLayers }))).toEqual(stock);
      expect(budget.lastStep?.predictedBytes).toBe(plan.predicted.peakBytes);
      expect(budget.peakBytes).toBeLessThanOrEqual(budgetBytes);
    },
    { plan },
  );
});
