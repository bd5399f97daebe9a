import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  BudgetError,
  type BudgetExecution,
  measurePeakBytes,
  releaseEarly,
  withMemoryBudget,
} from "../../src/index.js";
import { seeded } from "../training.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

afterEach(() => {
  tf.disposeVariables();
});

function makeModel(): tf.LayersModel {
  const dense = (units: number, inputShape?: number[]) =>
    tf.layers.dense({ units, activation: "tanh", ...(inputShape && { inputShape }) });
  const model = tf.sequential({
    layers: [
      dense(16, [8]),
      ...Array.from({ length: 12 }, () => dense(16)),
      tf.layers.dropout({ rate: 0.2 }),
      dense(1),
    ],
  });
  model.compile({ optimizer: tf.train.momentum(0.01, 0.9), loss: "meanSquaredError", metrics: ["mae"] });
  return model;
}

/** Batches of the sizes, in this order. */
async function fit(
  sizes: readonly number[],
  around: (run: (execution?: BudgetExecution) => Promise<void>) => Promise<void> = (run) => run(),
): Promise<{ values: unknown[]; steps: BudgetExecution["lastStep"][]; left: number }> {
  const model = seeded(3, makeModel);
  const values: unknown[] = [];
  const steps: BudgetExecution["lastStep"][] = [];
  let left = 0;
  await around(async (execution) => {
    for (const [i, size] of sizes.entries()) {
      const [x, y] = seeded(i, () => [tf.randomNormal([size, 8]), tf.randomNormal([size, 1])]);
      const before = tf.memory().numTensors;
      values.push(await seeded(i + 100, () => model.trainOnBatch(x, y)));
      if (i > 0) left += tf.memory().numTensors - before;
      tf.dispose([x, y]);
      steps.push(execution?.lastStep);
      await execution?.planned;
    }
  });
  values.push(...model.getWeights().map((weight) => [...weight.dataSync()]));
  model.optimizer.dispose();
  model.dispose();
  return { values, steps, left };
}

const sizes = [512, 512, 512, 256, 256, 512, 256];

describe("withMemoryBudget", () => {
  test("keeps the budget at every step, plans each shape once, and trains as stock to the bit", async () => {
    const stock = await fit(sizes);
    const { peakBytes } = await measurePeakBytes(() => fit([512]));
    const budget = Math.floor(0.6 * peakBytes);
    const planned = await fit(sizes, (run) => withMemoryBudget(budget, run, { planningMs: 300 }));
    expect(planned.values).toEqual(stock.values);
    expect(planned.left).toBe(stock.left);
    expect(Math.max(...planned.steps.map((step) => step?.peakBytes ?? Number.NaN))).toBeLessThanOrEqual(budget);
    const isPlanned = [false, true, true, false, false, true, true];
    expect(planned.steps.map((step) => step?.predictedBytes !== undefined)).toEqual(isPlanned);
    for (const step of planned.steps)
      if (step?.predictedBytes !== undefined) expect(step.peakBytes).toBe(step.predictedBytes);
  });

  test("in online mode without any plan", async () => {
    const stock = await fit([512, 256]);
    const { peakBytes } = await measurePeakBytes(() => fit([512]));
    const budget = Math.floor(0.6 * peakBytes);
    const online = await fit([512, 256], (run) => withMemoryBudget(budget, run, { online: true }));
    expect(online.values).toEqual(stock.values);
    expect(Math.max(...online.steps.map((step) => step?.peakBytes ?? Number.NaN))).toBeLessThanOrEqual(budget);
    expect(online.steps.map((step) => step?.predictedBytes)).toEqual([undefined, undefined]);
  });

  test("a percentage is of stock's peak, which the first step shows", async () => {
    const stock = await fit([512, 512, 512]);
    let budgetBytes = 0;
    const planned = await fit([512, 512, 512], (run) =>
      withMemoryBudget(
        "60%",
        async (execution) => {
          await run(execution);
          budgetBytes = execution.budgetBytes as number;
        },
        { planningMs: 300 },
      ),
    );
    expect(planned.values).toEqual(stock.values);
    expect(planned.steps.map((step) => typeof step?.predictedBytes)).toEqual(["undefined", "number", "number"]);
    for (const step of planned.steps.slice(1)) expect(step?.peakBytes).toBeLessThanOrEqual(budgetBytes);
  });

  test("evicts nothing if early release alone keeps the budget, and uses the predicted memory", async () => {
    const sizes = [512, 512, 512, 256, 256, 256, 512];
    const stock = await fit(sizes);
    const { peakBytes } = await measurePeakBytes(() => fit([512]));
    const roomy = await fit(sizes, (run) => withMemoryBudget(2 * peakBytes, run));
    expect(roomy.values).toEqual(stock.values);
    expect(roomy.left).toBe(stock.left);
    const isKnown = [false, true, true, false, false, true, true];
    expect(roomy.steps.map((step) => step?.evictions === 0)).toEqual(isKnown);
    expect(roomy.steps.map((step) => step?.peakBytes === step?.predictedBytes)).toEqual(isKnown);
  });

  test.each<number | "100%">([1e9, "100%"])(
    "within %s, where there is room, a step holds what it does with early release",
    async (budget) => {
      const w = tf.variable(tf.linspace(0.9, 1.1, 4096));
      const half = tf.scalar(0.5);
      // A tensor that half's gradient would read is saved, but that gradient is not requested.
      const loss = () => {
        let x: tf.Tensor = w;
        for (let i = 0; i < 16; i++) x = tf.add(tf.mul(x, half), w);
        return tf.sum(x) as tf.Scalar;
      };
      const pass = () => tf.dispose(tf.variableGrads(loss, [w]) as never);
      const stop = releaseEarly();
      const { peakBytes } = await measurePeakBytes(pass, [w]);
      stop();
      const peaks = withMemoryBudget(budget, (execution) =>
        [pass, pass, pass].map((run) => {
          run();
          return execution.lastStep?.peakBytes;
        }),
      );
      expect(peaks[2]).toBe(peakBytes);
      tf.dispose([w, half]);
    },
  );

  test("a step that begins as one that has room, and then needs more, keeps the budget from where it differs", () => {
    const size = 4096;
    const w = tf.variable(tf.linspace(0.9, 1.1, size));
    const loss = (depth: number) => () => {
      let x: tf.Tensor = tf.square(w);
      for (let i = 0; i < depth; i++) x = i % 2 === 0 ? tf.sin(x) : tf.mul(x, w);
      return tf.sum(x) as tf.Scalar;
    };
    const gradientOf = (depth: number) =>
      tf.tidy(() => [...Object.values(tf.variableGrads(loss(depth), [w]).grads)[0].dataSync()]);
    const stock = [4, 4, 4, 40, 4].map(gradientOf);
    const budget = 20 * 4 * size;
    withMemoryBudget(budget, (execution) => {
      const evictions: boolean[] = [];
      const seen = [4, 4, 4, 40, 4].map((depth) => {
        const gradient = gradientOf(depth);
        evictions.push((execution.lastStep?.evictions ?? 0) > 0);
        return gradient;
      });
      expect(seen).toEqual(stock);
      expect(evictions.slice(1)).toEqual([false, false, true, false]);
      expect(execution.heldBytes).toBeLessThanOrEqual(budget);
    });
    w.dispose();
  });

  test("through fit, which leaves a smaller batch over", async () => {
    const run = async (around: (train: (execution?: BudgetExecution) => Promise<void>) => Promise<void>) => {
      const model = seeded(3, makeModel);
      const [x, y] = seeded(4, () => [tf.randomNormal([160, 8]), tf.randomNormal([160, 1])]);
      const losses: unknown[] = [];
      await seeded(5, () =>
        around(async (execution) => {
          for (let epoch = 0; epoch < 3; epoch++) {
            const { history } = await model.fit(x, y, { batchSize: 64, shuffle: false, verbose: 0 });
            losses.push(history["loss"], history["mae"]);
            await execution?.planned;
          }
        }),
      );
      losses.push(...model.getWeights().map((weight) => [...weight.dataSync()]));
      tf.dispose([x, y]);
      model.optimizer.dispose();
      model.dispose();
      return losses;
    };
    const stock = await run((train) => train());
    const { peakBytes } = await measurePeakBytes(() => run((train) => train()));
    const budget = Math.floor(0.8 * peakBytes);
    const peaks: (number | undefined)[] = [];
    const budgeted = await run((train) =>
      withMemoryBudget(
        budget,
        async (execution) => {
          await train(execution);
          peaks.push(execution.lastStep?.peakBytes, execution.lastStep?.predictedBytes);
        },
        { planningMs: 200 },
      ),
    );
    expect(budgeted).toEqual(stock);
    expect(peaks[0]).toBeLessThanOrEqual(budget);
    expect(peaks[1]).toBe(peaks[0]);
  });

  test("a budget that cannot be kept names the smallest, and the op, and leaves nothing behind", async () => {
    const model = seeded(3, makeModel);
    const [x, y] = [tf.ones([512, 8]), tf.ones([512, 1])];
    await model.trainOnBatch(x, y);
    const before = tf.memory();
    const failed = withMemoryBudget(60_000, () => model.trainOnBatch(x, y));
    await expect(failed).rejects.toThrow(BudgetError);
    await expect(failed).rejects.toMatchObject({ code: "BUDGET_INFEASIBLE", op: expect.any(String) });
    const error = (await failed.catch((reason: unknown) => reason)) as BudgetError;
    expect(error.smallestBudgetBytes).toBeGreaterThan(60_000);
    expect(tf.memory()).toEqual(before);
    await model.trainOnBatch(x, y);
    tf.dispose([x, y]);
    model.optimizer.dispose();
    model.dispose();
  });
});
