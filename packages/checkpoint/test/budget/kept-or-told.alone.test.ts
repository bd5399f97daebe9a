import { withDispatchMode } from "@remat/dispatch-hook";
import { checkedShare } from "@remat/testkit/checked-share";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { BudgetError, type BudgetExecution, MemoryMeter, measurePeakBytes, withMemoryBudget } from "../../src/index.js";
import { waysToTrain } from "../users/ways-to-train.js";
import { ops } from "./random-programs.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

/** The peak that an independent meter sees while `run` runs, and the error that ended it. */
async function measured(run: () => Promise<void>): Promise<{ peakBytes: number; error: unknown }> {
  const meter = new MemoryMeter();
  let error: unknown;
  await withDispatchMode(meter, async () => {
    meter.count(Object.values(tf.engine().registeredVariables));
    await run().catch((reason: unknown) => (error = reason));
  });
  // An optimizer's constant of four bytes is met when the pass is over.
  return { peakBytes: meter.knownPeakBytes, error };
}

// Alone, because a process that has held more memory also warns that it was not returned.
describe("an embedding, whose gradient on cpu needs a copy of it for each word", () => {
  const words = tf.tidy(() => tf.keep(tf.range(0, 128, 1, "int32")));
  const train = () => {
    const table = tf.tidy(() => tf.variable(tf.randomNormal([250, 64], 0, 1, "float32", 3)));
    const optimizer = tf.train.sgd(0.1);
    const step = () =>
      optimizer.minimize(() => tf.sum(tf.square(tf.gather(table, words))) as tf.Scalar, false, [table]);
    return { table, step };
  };

  test("is refused where there is no room for that, naming op and bytes, and trains with what the error asks for", async () => {
    const stock = train();
    const { peakBytes } = await measurePeakBytes(stock.step, [stock.table]);
    stock.table.dispose();
    const trainIn = async (budget: number) => {
      const { table, step } = train();
      const run = async () => {
        await withMemoryBudget(budget, async (execution) => {
          for (let i = 0; i < 3; i++) {
            step();
            await execution.planned;
          }
        });
      };
      const outcome = await measured(run);
      table.dispose();
      return outcome;
    };
    const { error } = await trainIn(Math.floor(peakBytes / 2));
    expect(error).toBeInstanceOf(BudgetError);
    expect(error).toMatchObject({ op: expect.stringContaining("UnsortedSegmentSum") });
    const { smallestBudgetBytes } = error as BudgetError;
    expect(smallestBudgetBytes).toBeLessThanOrEqual(peakBytes);
    const enough = await trainIn(smallestBudgetBytes);
    expect(enough.error).toBeUndefined();
    expect(enough.peakBytes).toBeLessThanOrEqual(smallestBudgetBytes);
  });

  test("exceeds a budget that is not strict, which the step, what was planned and a warning tell", async () => {
    const warnings: string[] = [];
    const warn = (warning: Error & { code?: string }) => void warnings.push(`${warning.code}: ${warning.message}`);
    process.on("warning", warn);
    const { step } = train();
    const budget = 2_500_000;
    await withMemoryBudget(
      budget,
      async (execution) => {
        step();
        step();
        expect(execution.lastStep?.exceeded).toMatchObject({
          budgetBytes: budget,
          op: expect.stringContaining("UnsortedSegmentSum"),
          peakBytes: execution.lastStep?.peakBytes,
        });
        expect(await execution.planned).toMatchObject({
          kind: "exceeded",
          op: expect.stringContaining("UnsortedSegmentSum"),
          exceededBytes: (execution.lastStep?.peakBytes ?? 0) - budget,
        });
      },
      { strict: false },
    );
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("warning", warn);
    expect(warnings).toEqual([
      expect.stringMatching(/^BUDGET_EXCEEDED: memory reached .* in UnsortedSegmentSum of .* over the budget/),
    ]);
  });
});

describe("planning reports how the budget is kept", () => {
  const w = () => tf.variable(tf.linspace(0.9, 1.1, 4096));
  const step = (weights: tf.Variable) =>
    tf.tidy(() => {
      let x: tf.Tensor = tf.square(weights);
      for (let i = 0; i < 16; i++) x = i % 2 === 0 ? tf.sin(x) : tf.mul(x, weights);
      return tf.sum(x) as tf.Scalar;
    });
  const outcomes = async (budget: number) => {
    const weights = w();
    const seen: string[] = [];
    await withMemoryBudget(
      budget,
      async (execution: BudgetExecution) => {
        seen.push((await execution.planned).kind);
        for (let i = 0; i < 2; i++) {
          tf.dispose(tf.variableGrads(() => step(weights), [weights]) as never);
          seen.push((await execution.planned).kind);
        }
      },
      { planningMs: 500 },
    );
    return seen;
  };

  test("with early release and with a plan", async () => {
    const size = 4 * 4096;
    expect(await outcomes(60 * size)).toEqual(["none", "released", "released"]);
    expect(await outcomes(12 * size)).toEqual(["none", "planned", "planned"]);
  });
});

describe.each(Object.entries(waysToTrain))("%s", (_, make) => {
  test("is possible in all that stock takes, and holds no more", async () => {
    const stock = make();
    await stock.run();
    const expected = stock.weights.map((weight) => [...weight.dataSync()]);
    stock.dispose();
    const training = make();
    let budgetBytes = 0;
    const { error } = await measured(() =>
      withMemoryBudget(
        "100%",
        async (execution) => {
          await training.run();
          budgetBytes = execution.budgetBytes as number;
          expect(execution.peakBytes).toBeLessThanOrEqual(budgetBytes);
        },
        { planningMs: 200 },
      ),
    );
    expect(error).toBeUndefined();
    expect(training.weights.map((weight) => [...weight.dataSync()])).toEqual(expected);
    training.dispose();
  });
});

/** The baseline peak of a pass, and the one that the first step within a percentage budget reports. */
async function stockPeaks(
  loss: () => tf.Scalar,
  weights: tf.Variable[],
): Promise<{ held: number; told: number | undefined }> {
  const pass = () => tf.dispose(tf.variableGrads(loss, weights) as never);
  const { peakBytes: held } = await measurePeakBytes(pass, weights);
  const told = withMemoryBudget("100%", (execution) => {
    pass();
    return execution.stockPeakBytes;
  });
  return { held, told };
}

test("a step with early release predicts the baseline's peak to the byte", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(ops.length - 1), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      async (chosen, quarter, isTidied) => {
        const w = tf.tidy(() => tf.variable(tf.randomNormal([8, 8], 0, 0.3, "float32", 1)));
        const x = tf.randomNormal([4 * quarter, 8], 0, 1, "float32", 2);
        const forward = () => chosen.reduce((y: tf.Tensor, op) => ops[op](y, w), tf.matMul(x, w));
        const loss = () => tf.mean(tf.square(isTidied ? tf.tidy(forward) : forward())) as tf.Scalar;
        const { held, told } = await stockPeaks(loss, [w]);
        tf.dispose([w, x]);
        expect(told).toBe(held);
      },
    ),
    { numRuns: 30 },
  );
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({ filters: 4, kernelSize: 3, inputShape: [12, 12, 2] }),
      tf.layers.batchNormalization(),
      tf.layers.reLU(),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.layerNormalization(),
      tf.layers.dropout({ rate: 0.2 }),
      tf.layers.dense({ units: 3, activation: "softmax" }),
    ],
  });
  const x = tf.randomNormal([5, 12, 12, 2]);
  const weights = model.trainableWeights.map((weight) => (weight as unknown as { val: tf.Variable }).val);
  const loss = () => tf.sum(tf.square(model.apply(x, { training: true }) as tf.Tensor)) as tf.Scalar;
  const { held, told } = await stockPeaks(loss, weights);
  expect(told).toBe(held);
});

test("a budget of a random program is kept, or an error says why not", async () => {
  const program = fc.record({
    ops: fc.array(fc.nat(ops.length - 1), { minLength: 1, maxLength: 12 }),
    batch: fc.integer({ min: 1, max: 12 }).map((n) => 4 * n),
    optimizer: fc.constantFrom<() => tf.Optimizer>(
      () => tf.train.sgd(0.01),
      () => tf.train.adam(0.01),
      () => tf.train.rmsprop(0.01),
    ),
    part: fc.double({ min: 0.2, max: 1, noNaN: true }),
    online: fc.boolean(),
  });
  const given = checkedShare(0.25);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(program, async ({ ops: chosen, batch, optimizer: make, part, online }) => {
      const w = tf.variable(tf.randomNormal([8, 8], 0, 0.3, "float32", 1));
      const x = tf.randomNormal([batch, 8], 0, 1, "float32", 2);
      const run = async (pause: () => Promise<unknown> = async () => {}) => {
        const optimizer = make();
        try {
          for (let i = 0; i < 3; i++) {
            optimizer.minimize(
              () =>
                tf.mean(tf.square(chosen.reduce((y: tf.Tensor, op) => ops[op](y, w), tf.matMul(x, w)))) as tf.Scalar,
              false,
              [w],
            );
            await pause();
          }
        } finally {
          optimizer.dispose();
        }
      };
      const stock = await measured(run);
      const budget = Math.max(1, Math.floor(part * stock.peakBytes));
      const { peakBytes, error } = await measured(() =>
        withMemoryBudget(budget, (execution) => run(() => execution.planned), { online, planningMs: 30 }),
      );
      tf.dispose([w, x]);
      if (given(error === undefined)) {
        expect(peakBytes).toBeLessThanOrEqual(budget);
      } else {
        refused++;
        expect(error).toBeInstanceOf(BudgetError);
      }
    }),
    { numRuns: 20 },
  );
  expect(refused).toBeGreaterThan(0);
});
