import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Plan } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test } from "vitest";
import { withMemoryBudget } from "../../src/index.js";
import { gradientsOnly } from "../training.js";

beforeAll(() => tf.setBackend("cpu"));

test.each(["100%", "1GB"])(
  "a plan that is given is followed within a budget of %s, where early release would do",
  async (budget) => {
    const weights = Array.from({ length: 6 }, (_, i) => tf.variable(tf.fill([32, 32], 0.01 * (i + 1))));
    const inputs = tf.linspace(-1, 1, 64 * 32).reshape([64, 32]);
    const forward = (x: tf.Tensor) => weights.reduce((y: tf.Tensor, w) => tf.tanh(tf.matMul(y, w)), x);
    const parameters = Object.fromEntries(weights.map((weight, i) => [`net.w${i}`, weight]));
    const traced = await traceFakeStep(() => ({ forward, parameters, inputs }), { ...gradientsOnly, backend: "cpu" });
    const { point } = await planCheckpointing(priceTrace(traced, deviceSpec("cpu")), {
      budgetFraction: 0.38,
      iterations: 300,
      boundTimeMs: 0,
    });
    const { plan } = point as { plan: Plan };
    const step = () =>
      tf.tidy(() => {
        const { value, grads } = tf.variableGrads(() => tf.sum(forward(inputs)) as tf.Scalar, weights);
        return [value, ...Object.values(grads)].map((tensor) => [...tensor.dataSync()]);
      });
    const stock = step();
    const lastSteps = await withMemoryBudget(
      budget,
      async (execution) => {
        const seen = [];
        for (let i = 0; i < 4; i++) {
          expect(step()).toEqual(stock);
          await execution.planned;
          seen.push(execution.lastStep);
        }
        return seen.slice(1);
      },
      { plan },
    );
    for (const lastStep of lastSteps) {
      expect(lastStep?.recomputedOps).toBeGreaterThan(0);
      expect(lastStep?.predictedBytes).toBe(plan.predicted.peakBytes);
    }
  },
);

test("a plan that is given and holds more than the budget is told of, and not followed", async () => {
  const weights = Array.from({ length: 6 }, (_, i) => tf.variable(tf.fill([32, 32], 0.01 * (i + 1))));
  const inputs = tf.linspace(-1, 1, 64 * 32).reshape([64, 32]);
  const forward = (x: tf.Tensor) => weights.reduce((y: tf.Tensor, w) => tf.tanh(tf.matMul(y, w)), x);
  const parameters = Object.fromEntries(weights.map((weight, i) => [`net.w${i}`, weight]));
  const traced = await traceFakeStep(() => ({ forward, parameters, inputs }), { ...gradientsOnly, backend: "cpu" });
  const asked = { budgetFraction: 0.6, iterations: 300, boundTimeMs: 0 };
  const { plan } = (await planCheckpointing(priceTrace(traced, deviceSpec("cpu")), asked)).point as { plan: Plan };
  const told: Error[] = [];
  const listen = (warning: Error): void => void told.push(warning);
  process.on("warning", listen);
  try {
    const { peakBytes } = plan.predicted;
    const lastStep = withMemoryBudget(
      peakBytes - 1,
      (execution) => {
        tf.dispose(tf.variableGrads(() => tf.sum(forward(inputs)) as tf.Scalar, weights) as never);
        return execution.lastStep;
      },
      { plan, strict: false },
    );
    expect(lastStep?.plan).toBeUndefined();
    await new Promise((resolve) => setImmediate(resolve));
    const over = told.filter(({ message }) => message.includes("it is ignored"));
    expect(over).toMatchObject([{ name: "RematWarning", code: "PLAN_OVER_BUDGET" }]);
    expect(over[0].message).toContain(`${peakBytes}B`);
  } finally {
    process.off("warning", listen);
  }
});
