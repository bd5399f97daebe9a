import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Plan } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Ledger } from "../src/executor/ledger.js";
import { applyPlan, type PlanExecution, withMemoryBudget, withPlan } from "../src/index.js";
import { gradientsOnly, seeded } from "./training.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

/** Layers of `tanh(x w)`, as a definition for the tracer and as plain code. */
const network = (depth: number, batch: number, width = 32, last: (y: tf.Tensor) => tf.Tensor = (y) => y) => {
  const weights = seeded(1, () =>
    Array.from({ length: depth }, () => tf.tidy(() => tf.variable(tf.randomNormal([width, width])))),
  );
  const inputs = seeded(2, () => tf.randomNormal([batch, width]));
  const forward = (x: tf.Tensor): tf.Tensor => last(weights.reduce((y: tf.Tensor, w) => tf.tanh(tf.matMul(y, w)), x));
  const parameters = Object.fromEntries(weights.map((weight, i) => [`net.w${i}`, weight]));
  return { forward, parameters, inputs };
};

async function planFor(depth: number, batch: number, budgetFraction = 0.75): Promise<Plan> {
  const traced = await traceFakeStep(() => network(depth, batch), { ...gradientsOnly, backend: "cpu" });
  const trace = priceTrace(traced, deviceSpec("cpu"));
  const { point } = await planCheckpointing(trace, { budgetFraction, iterations: 300, boundTimeMs: 0 });
  return (point as NonNullable<typeof point>).plan;
}

function step({ forward, inputs, parameters }: ReturnType<typeof network>): number[][] {
  return tf.tidy(() => {
    const { value, grads } = tf.variableGrads(() => tf.sum(forward(inputs)) as tf.Scalar, Object.values(parameters));
    return [[...value.dataSync()], ...Object.values(grads).map((gradient) => [...gradient.dataSync()])];
  });
}

describe("a plan for something else", () => {
  test("is refused with the first op that differs, both sides shown, and leaves the engine as it was", async () => {
    const plan = await planFor(6, 64);
    const other = network(6, 48);
    const before = tf.memory();
    const stock = step(other);
    expect(() => withPlan(plan, () => step(other))).toThrow(
      /op 0 differs from the plan for 'model': expected \(outside modules\) forward BatchMatMul 0: float32\[64,32\], found forward BatchMatMul: float32\[48,32\]\. .*onMismatch/s,
    );
    const deeper = network(7, 64);
    expect(() => withPlan(plan, () => step(deeper))).toThrow(
      /op 12 differs from the plan .*expected \(outside modules\) forward Sum 0: float32\[\], found forward BatchMatMul: float32\[64,32\]/s,
    );
    tf.dispose([deeper.parameters, deeper.inputs] as never);
    expect(tf.memory()).toMatchObject({ numTensors: before.numTensors, numBytes: before.numBytes });
    expect(step(other)).toEqual(stock);
  });

  test("can be run safely by storing more: from the op on that differs nothing more is evicted", async () => {
    const plan = await planFor(6, 64);
    for (const other of [network(6, 48), network(7, 64), network(5, 64), network(6, 64, 32, (y) => tf.exp(y))]) {
      const stock = step(other);
      const before = tf.memory().numTensors;
      let execution: Pick<PlanExecution, "lastStep"> | undefined;
      const stored = withPlan(
        plan,
        (running) => {
          execution = running;
          return [step(other), step(other)];
        },
        { onMismatch: "store" },
      );
      expect(stored).toEqual([stock, stock]);
      expect(tf.memory().numTensors).toBe(before);
      expect(execution?.lastStep?.mismatch).toMatchObject({
        op: expect.any(Number),
        found: { kernel: expect.any(String), outputs: expect.any(Array) },
      });
    }
  });

  test.each([undefined, null, {}, "plan.json", { subject: "step" }])("is refused where it is %j", (given) => {
    const refused = expect.objectContaining({
      code: "PLAN_SUBJECT",
      message: expect.stringMatching(/^expected a plan, .*readPlan/),
    });
    expect(() => applyPlan(given as never)).toThrow(refused);
    // Without a plan, a budget makes its own.
    if (given) expect(() => withMemoryBudget("90%", () => 1, { plan: given as never })).toThrow(refused);
  });

  test("a plan of a graph or of PyTorch is not a plan for a step", async () => {
    const plan = await planFor(2, 4, 1);
    expect(() => applyPlan({ ...plan, subject: { ...plan.subject, kind: "graph" } })).toThrow(
      /PLAN_SUBJECT|is for a graph/,
    );
    expect(() => applyPlan({ ...plan, subject: { ...plan.subject, framework: "pytorch" } })).toThrow(/of pytorch/);
  });
});

test("random numbers: under a plan that goes on where a step differs, a mask is held as long as it lives; values are stock's", async () => {
  const withDropout = () => {
    const { parameters, inputs } = network(4, 128);
    const weights = Object.values(parameters);
    const forward = (x: tf.Tensor): tf.Tensor =>
      weights.reduce((y: tf.Tensor, w) => tf.dropout(tf.tanh(tf.matMul(y, w)), 0.3), x);
    return { parameters, inputs, forward };
  };
  const trace = priceTrace(await traceFakeStep(withDropout, { ...gradientsOnly, backend: "cpu" }), deviceSpec("cpu"));
  const { point } = await planCheckpointing(trace, { budgetFraction: 0.5, iterations: 300, boundTimeMs: 0 });
  const { plan } = point as NonNullable<typeof point>;
  const model = withDropout();
  const stock = seeded(5, () => step(model));
  const peaks = (["refuse", "store"] as const).map((onMismatch) =>
    withPlan(
      plan,
      (execution) => {
        expect(seeded(5, () => step(model))).toEqual(stock);
        return execution.lastStep?.peakBytes as number;
      },
      { onMismatch },
    ),
  );
  expect(peaks[0]).toBe(plan.predicted.peakBytes);
  expect(peaks[1]).toBeGreaterThanOrEqual(peaks[0]);
  let budgeted: unknown;
  const first = withMemoryBudget(
    plan.predicted.peakBytes,
    (execution) => {
      budgeted = seeded(5, () => step(model));
      return execution.lastStep;
    },
    { plan },
  );
  expect(budgeted).toEqual(stock);
  expect(first).toMatchObject({ peakBytes: plan.predicted.peakBytes, predictedBytes: plan.predicted.peakBytes });
});

test("a step that leaves its plan in the backward pass, after others that did not, gives what it gives in stock", async () => {
  const last = { extraOps: 0, readsBetween: false };
  // Like user code whose gradient looks at the numbers now and then.
  const squared = tf.customGrad((x, save) => {
    const y = tf.square(x as tf.Tensor);
    (save as (saved: tf.Tensor[]) => void)([x as tf.Tensor]);
    const gradFunc = (dy: tf.Tensor, [saved]: tf.Tensor[]) => {
      let dx = tf.mul(dy, tf.mul(saved, 2));
      const between = tf.mul(dx, 3);
      for (let i = 0; i < last.extraOps; i++) dx = tf.add(dx, tf.mul(between, saved));
      const total = tf.sum(between);
      if (last.readsBetween) between.dataSync();
      return tf.add(dx, tf.mul(total, 0));
    };
    return { value: y, gradFunc: gradFunc as never };
  });
  const model = () => network(6, 64, 32, (y) => tf.tanh(squared(tf.tanh(squared(y) as tf.Tensor)) as tf.Tensor));
  const trace = priceTrace(await traceFakeStep(model, { ...gradientsOnly, backend: "cpu" }), deviceSpec("cpu"));
  const { point } = await planCheckpointing(trace, { budgetFraction: 0.6, iterations: 300, boundTimeMs: 0 });
  const { plan } = point as NonNullable<typeof point>;
  const trained = model();
  const kinds = [0, 0, 2, 0, 1, 0].flatMap((extraOps) => [
    { extraOps, readsBetween: false },
    { extraOps, readsBetween: true },
  ]);
  const run = (): unknown[] =>
    kinds.map((kind) => {
      Object.assign(last, kind);
      return step(trained);
    });
  const stock = run();
  expect(withPlan(plan, run, { onMismatch: "store" })).toEqual(stock);
  expect(withMemoryBudget(plan.predicted.peakBytes, run, { plan, strict: false })).toEqual(stock);
});

test("a plan costs the ledger less from its second pass on: it knows of fewer ops, and the same is evicted", async () => {
  const plan = await planFor(6, 64);
  const model = network(6, 64);
  const note = vi.spyOn(Ledger.prototype, "note");
  const noted: number[] = [];
  const steps = withPlan(plan, (execution) =>
    Array.from({ length: 3 }, () => {
      note.mockClear();
      step(model);
      noted.push(note.mock.calls.length);
      return execution.lastStep;
    }),
  );
  note.mockRestore();
  expect(noted[1]).toBeLessThan(noted[0]);
  expect(noted[2]).toBe(noted[1]);
  expect(new Set(steps.map((each) => each?.evictions)).size).toBe(1);
  expect(steps.map((each) => each?.peakBytes)).toEqual(steps.map(() => plan.predicted.peakBytes));
});

test("applyPlan goes on until it is closed, and closes twice", async () => {
  const plan = await planFor(6, 64);
  const model = network(6, 64);
  const stock = step(model);
  const execution = applyPlan(plan);
  expect(execution.lastStep).toBe(undefined);
  expect([step(model), step(model)]).toEqual([stock, stock]);
  expect(execution.lastStep).toMatchObject({
    peakBytes: plan.predicted.peakBytes,
    mismatch: undefined,
    recomputedOnTouch: 0,
  });
  execution.close();
  execution.close();
  expect(step(model)).toEqual(stock);
});

test("a tensor that is read against the plan is recomputed immediately", async () => {
  const plan = await planFor(6, 256, 0.36);
  expect(plan.steps.some(({ isRecomputed }) => isRecomputed)).toBe(true);
  const seen: number[][] = [];
  const model = network(6, 256);
  const spied = {
    ...model,
    forward: (x: tf.Tensor) => {
      const results: tf.Tensor[] = [];
      const y = Object.values(model.parameters).reduce((h: tf.Tensor, w) => {
        const next = tf.tanh(tf.matMul(h, w));
        results.push(next);
        return next;
      }, x);
      for (const result of results) seen.push([...result.dataSync()]);
      return y;
    },
  };
  const stock = step(spied);
  const values = seen.splice(0);
  let touched = 0;
  const planned = withPlan(plan, (execution) => {
    const result = step(spied);
    touched = execution.lastStep?.recomputedOnTouch ?? 0;
    return result;
  });
  expect(planned).toEqual(stock);
  expect(seen).toEqual(values);
  expect(touched).toBeGreaterThan(0);
});
