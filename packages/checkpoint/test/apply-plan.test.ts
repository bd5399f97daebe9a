import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { sampledCases } from "@remat/testkit";
import type { Plan } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { type StepReport, withPlan } from "../src/index.js";
import { exampleNamed, gradientsOnly, train } from "./training.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

/** Plans for parts of the recorded peak, of which those that are feasible come back. */
async function plansFor(name: string, fractions: readonly number[]): Promise<Plan[]> {
  const traced = await traceFakeStep(await exampleNamed(name), { ...gradientsOnly, size: "tiny", backend: "cpu" });
  const trace = priceTrace(traced, deviceSpec("cpu"));
  const plans: Plan[] = [];
  for (const budgetFraction of fractions) {
    const answer = await planCheckpointing(trace, { budgetFraction, timeMs: 400, boundTimeMs: 0 });
    if (answer.point !== undefined) plans.push(answer.point.plan);
  }
  return plans;
}

/** Many steps of what takes little: from the second on a step is like the one before. */
const examples: readonly (readonly [name: string, steps: number, fractions: readonly number[]])[] = [
  ["foo", 10, [1, 0.45, 0.35]],
  ["shared-layers", 10, [1, 0.6, 0.5]],
  ["lstm", 10, [0.6, 0.2]],
  ["transformer", 3, [1, 0.5]],
  ["gpt-2", 3, [0.6]],
  ["u-net", 2, [0.6, 0.3]],
];

describe.each(sampledCases(examples, 2))("%s", (name, steps, fractions) => {
  test("trains under plans as stock, to the bit, in the memory that was predicted, to the byte", async () => {
    const build = await exampleNamed(name);
    const stock = await train(build, { steps });
    const plans = await plansFor(name, fractions);
    expect(plans.length).toBeGreaterThan(0);
    for (const plan of plans) {
      const reports: StepReport[] = [];
      const planned = await train(build, { steps }, (step) =>
        withPlan(plan, (execution) => {
          step();
          reports.push(execution.lastStep as StepReport);
        }),
      );
      expect(planned).toEqual(stock);
      const again = plan.steps.filter(({ isRecomputed }) => isRecomputed).length;
      const [{ peakBytes, recomputedOps, recomputedOnTouch }] = reports;
      expect({ peakBytes, recomputedOnTouch }).toEqual({ peakBytes: plan.predicted.peakBytes, recomputedOnTouch: 0 });
      expect(recomputedOps).toBeGreaterThanOrEqual(again);
      expect(reports.map(({ mismatch }) => mismatch)).toEqual(reports.map(() => undefined));
    }
  });
});
