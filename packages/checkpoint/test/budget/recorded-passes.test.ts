import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { PassRecorder } from "../../src/budget/pass-recorder.js";
import { type MemoryBudgetOptions, measurePeakBytes, withMemoryBudget } from "../../src/index.js";
import { seeded } from "../training.js";

// To record a pass may take as long as to run it.

beforeAll(async () => {
  await tf.setBackend("cpu");
});

afterEach(() => {
  tf.disposeVariables();
  vi.restoreAllMocks();
});

function makeModel(layers: number): tf.LayersModel {
  const dense = (units: number, inputShape?: number[]) =>
    tf.layers.dense({ units, activation: "tanh", ...(inputShape && { inputShape }) });
  const model = tf.sequential({
    layers: [dense(16, [8]), ...Array.from({ length: layers }, () => dense(16)), dense(1)],
  });
  model.compile({ optimizer: tf.train.momentum(0.01, 0.9), loss: "meanSquaredError" });
  return model;
}

interface Training {
  /** For each step. */
  readonly batches: readonly number[];
  /** The step after which each plan is waited for. */
  readonly waitsFrom: number;
  readonly budget: number;
  readonly options: MemoryBudgetOptions;
}

/** Returns the ops that were recorded in each step, and whether it was as planned. */
async function train({ batches, waitsFrom, budget, options }: Training) {
  const seen = vi.spyOn(PassRecorder.prototype, "opDone");
  const model = seeded(3, () => makeModel(12));
  const steps: { recorded: number; planned: boolean }[] = [];
  await withMemoryBudget(
    budget,
    async (execution) => {
      for (const [i, batch] of batches.entries()) {
        const [x, y] = seeded(i, () => [tf.randomNormal([batch, 8]), tf.randomNormal([batch, 1])]);
        const before = seen.mock.calls.length;
        await model.trainOnBatch(x, y);
        steps.push({
          recorded: seen.mock.calls.length - before,
          planned: execution.lastStep?.predictedBytes !== undefined,
        });
        tf.dispose([x, y]);
        if (i >= waitsFrom) await execution.planned;
      }
    },
    options,
  );
  model.optimizer.dispose();
  model.dispose();
  return steps;
}

async function budgetOf(share: number): Promise<number> {
  const model = makeModel(12);
  const [x, y] = [tf.ones([512, 8]), tf.ones([512, 1])];
  const { peakBytes } = await measurePeakBytes(() => model.trainOnBatch(x, y));
  model.optimizer.dispose();
  model.dispose();
  tf.dispose([x, y]);
  return Math.floor(share * peakBytes);
}

describe("a pass of which all is known is not recorded", () => {
  test("though another ran while its plan was made", async () => {
    const budget = await budgetOf(0.5);
    const steps = await train({ batches: Array(9).fill(512), waitsFrom: 1, budget, options: { planningMs: 300 } });
    expect(steps[0].recorded).toBeGreaterThan(100);
    expect(steps.slice(3).every(({ planned }) => planned)).toBe(true);
    for (const { recorded } of steps.slice(1)) expect(recorded).toBeLessThanOrEqual(1);
  });

  test("if no plan was found", async () => {
    const budget = await budgetOf(0.5);
    const steps = await train({ batches: Array(8).fill(512), waitsFrom: 0, budget, options: { planningMs: 0 } });
    expect(steps.filter(({ planned }) => planned)).toEqual([]);
    expect(steps.filter(({ recorded }) => recorded > 1).length).toBe(1);
  });

  test("in turns with others, each of which is recorded once", async () => {
    const budget = await budgetOf(0.4);
    const batches = Array.from({ length: 12 }, (_, i) => [512, 384, 448][i % 3]);
    const steps = await train({ batches, waitsFrom: 0, budget, options: { planningMs: 300 } });
    expect(steps.filter(({ recorded }) => recorded > 1).length).toBe(3);
    expect(steps.slice(-3).every(({ planned }) => planned)).toBe(true);
  });
});
