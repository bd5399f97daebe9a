import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, expect, test } from "vitest";
import { BudgetError, measurePeakBytes, withMemoryBudget } from "../../src/index.js";
import { type RandomProgram, randomPrograms, trainProgram } from "./random-programs.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

/** Trains within a budget. Returns the weights, or the error that rejected the budget. */
async function trainWithin(budget: number, online: boolean, program: RandomProgram): Promise<number[] | BudgetError> {
  const before = tf.memory();
  const result = await trainProgram(program, (run) =>
    withMemoryBudget(budget, (execution) => run(() => execution.planned), { online, planningMs: 30 }),
  ).catch((error: unknown) => error as BudgetError);
  expect(tf.memory()).toEqual(before);
  return result;
}

test("a rejected step names a budget in which the program trains", async () => {
  let rejected = 0;
  const part = fc.double({ min: 0.05, max: 0.6, noNaN: true });
  await fc.assert(
    fc.asyncProperty(randomPrograms, part, fc.boolean(), async (drawn, part, online) => {
      const program = { ...drawn, appliesGradients: false };
      const { peakBytes, result: weights } = await measurePeakBytes(() => trainProgram(program));
      const first = await trainWithin(Math.max(1, Math.floor(part * peakBytes)), online, program);
      if (!(first instanceof BudgetError)) {
        expect(first).toEqual(weights);
        return;
      }
      rejected++;
      expect(first.message).toContain(`Raise the budget to ${first.smallestBudgetBytes}B`);
      expect(first.message).not.toContain("a later op may need more");
      expect(await trainWithin(first.smallestBudgetBytes, online, program)).toEqual(weights);
    }),
    { numRuns: 25 },
  );
  expect(rejected).toBeGreaterThan(5);
});

test("a program that applies gradients itself is rejected at most for a pass, its update and its next pass", async () => {
  await fc.assert(
    fc.asyncProperty(randomPrograms, fc.boolean(), async (drawn, online) => {
      const program = { ...drawn, appliesGradients: true };
      let budget = 1;
      let rejections = 0;
      for (;;) {
        const result = await trainWithin(budget, online, program);
        if (!(result instanceof BudgetError)) break;
        expect(result.smallestBudgetBytes).toBeGreaterThan(budget);
        budget = result.smallestBudgetBytes;
        rejections++;
      }
      expect(rejections).toBeLessThanOrEqual(3);
    }),
    { numRuns: 20 },
  );
});
