import { dailyRuns } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, expect, test } from "vitest";
import { BudgetError, type BudgetExecution, withMemoryBudget } from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => {
  tf.disposeVariables();
});

/** A chain of layers, on as many rows and as deep as each step asks for. */
function network(width: number): (rows: number, depth: number) => void {
  const w = tf.variable(tf.linspace(-1, 1, width * width).reshape([width, width]));
  const optimizer = tf.train.adam(1e-3);
  return (rows, depth) =>
    tf.tidy(() => {
      const x = tf.linspace(0, 1, rows * width).reshape([rows, width]);
      const loss = () => {
        let a: tf.Tensor = x;
        for (let i = 0; i < depth; i++) a = tf.sigmoid(tf.mul(tf.matMul(a as tf.Tensor2D, w as never), 0.1));
        return tf.mean(a) as tf.Scalar;
      };
      optimizer.minimize(loss, true, [w]);
    });
}

const sizes = fc.array(fc.tuple(fc.constantFrom(1, 4, 16, 48), fc.constantFrom(2, 6, 12)), {
  minLength: 2,
  maxLength: 7,
});
const budgets = fc.oneof(
  fc.integer({ min: 50, max: 100 }).map((percent) => `${percent}%`),
  fc.integer({ min: 20_000, max: 80_000 }),
);

test("steps of any sizes, in any order, hold at most a budget in bytes, and at most stock's peak under a part of it", async () => {
  const given = checkedShare();
  await fc.assert(
    fc.asyncProperty(sizes, budgets, fc.boolean(), async (steps, budget, waits) => {
      let execution: BudgetExecution | undefined;
      const after: (readonly [held: number, budget: number])[] = [];
      try {
        await withMemoryBudget(
          budget,
          async (opened) => {
            execution = opened;
            const step = network(16);
            for (const [rows, depth] of steps) {
              step(rows, depth);
              if (waits) await opened.planned;
              // With a fraction of the baseline's peak, there is no budget while a larger step is measured.
              const most = typeof budget === "number" ? opened.budgetBytes : opened.stockPeakBytes;
              if (most !== undefined) after.push([opened.heldBytes, most]);
            }
          },
          { planningMs: 50 },
        );
      } catch (error) {
        // Then it may say so: what an op needs at least is more.
        if (!(error instanceof BudgetError)) throw error;
      } finally {
        tf.disposeVariables();
      }
      expect(execution).toBeDefined();
      given(after.length === steps.length);
      for (const [held, most] of after) expect(held).toBeLessThanOrEqual(most);
    }),
    { numRuns: dailyRuns(60) },
  );
});
