import { withDispatchMode } from "@remat/dispatch-hook";
import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Plan } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import { applyPlan, fasterGradients, MemoryMeter, releaseEarly, withMemoryBudget, withPlan } from "../src/index.js";
import { gradientsOnly, seeded } from "./training.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

type Layer = (y: tf.Tensor2D) => tf.Tensor2D;
const plain: Layer = (y) => y;
/** Its gradient is another one where gradients are `equal`, with fewer kernels. */
const normalized: Layer = (y) => {
  const ones = tf.ones([y.shape[1]]) as tf.Tensor1D;
  return tf.batchNorm2d(y, tf.mean(y, 0) as tf.Tensor1D, ones, ones, ones);
};

/** Layers of `tanh(x w)`; the weights of all networks of one width are asked for by the same names. */
function network(batch: number, { width = 32, layer = plain, last = plain as (y: tf.Tensor2D) => tf.Tensor } = {}) {
  const weights = seeded(1, () =>
    Array.from({ length: 6 }, (_, i) => {
      const name = `w${width}.${i}`;
      const known = tf.engine().state.registeredVariables[name];
      return known ?? tf.tidy(() => tf.variable(tf.randomNormal([width, width]), true, name));
    }),
  );
  const inputs = seeded(2, () => tf.randomNormal([batch, width]));
  const forward = (x: tf.Tensor): tf.Tensor =>
    last(
      weights.reduce(
        (y: tf.Tensor, w) => layer(tf.tanh(tf.matMul(y as tf.Tensor2D, w as tf.Tensor2D))),
        x,
      ) as tf.Tensor2D,
    );
  return { forward, inputs, parameters: Object.fromEntries(weights.map((weight, i) => [`net.w${i}`, weight])) };
}
type Network = ReturnType<typeof network>;

async function planFor(build: () => Network, budgetFraction = 0.75): Promise<Plan> {
  const traced = await traceFakeStep(build, { ...gradientsOnly, backend: "cpu" });
  const options = { budgetFraction, iterations: 300, boundTimeMs: 0 };
  const { point } = await planCheckpointing(priceTrace(traced, deviceSpec("cpu")), options);
  return (point as NonNullable<typeof point>).plan;
}

const step = ({ forward, inputs, parameters }: Network): number[][] =>
  tf.tidy(() => {
    const { value, grads } = tf.variableGrads(() => tf.sum(forward(inputs)) as tf.Scalar, Object.values(parameters));
    return [[...value.dataSync()], ...Object.values(grads).map((gradient) => [...gradient.dataSync()])];
  });

const releasedPeak = (net: Network): number => {
  const stop = releaseEarly();
  const meter = new MemoryMeter();
  try {
    withDispatchMode(meter, () => {
      meter.count(Object.values(net.parameters));
      step(net);
    });
  } finally {
    stop();
  }
  return meter.peakBytes;
};

describe("several plans at once", () => {
  test("each pass follows its own, as predicted to the byte; others release early, in as much as that takes", async () => {
    const plans = [await planFor(() => network(64)), await planFor(() => network(48, { width: 24 }), 0.6)];
    const nets = [network(64), network(48, { width: 24 }), network(40, { width: 40 })];
    const stock = nets.map(step);
    const alone = plans.map((plan, i) => withPlan(plan, (execution) => (step(nets[i]), execution.lastStep?.peakBytes)));
    const execution = applyPlan(plans, { onMismatch: "store" });
    const before = tf.memory().numTensors;
    for (const i of [0, 1, 2, 1, 0, 2, 2]) {
      expect(step(nets[i])).toEqual(stock[i]);
      const { plan, mismatch, recomputedOnTouch } = execution.lastStep!;
      expect(plan).toBe(plans[i]);
      expect({ isLeft: mismatch !== undefined, recomputedOnTouch }).toEqual({ isLeft: i === 2, recomputedOnTouch: 0 });
    }
    expect(execution.peakBytes).toBeGreaterThanOrEqual(execution.lastStep!.peakBytes);
    execution.close();
    expect(tf.memory().numTensors).toBe(before);
    expect(alone).toEqual(plans.map(({ predicted }) => predicted.peakBytes));
    const released = withPlan(plans, (other) => (step(nets[2]), other.lastStep?.peakBytes), { onMismatch: "store" });
    expect(released).toBe(releasedPeak(nets[2]));
  });

  test("between plans with the same beginning and the same requested gradients, the one that was right before is followed", async () => {
    const kinds = [() => network(64, { last: tf.exp }), () => network(64, { last: tf.square })];
    const plans = [await planFor(kinds[0]), await planFor(kinds[1])];
    const nets = kinds.map((build) => build());
    const stock = nets.map(step);
    const followed = withPlan(
      plans,
      (execution) =>
        [0, 1, 0, 1, 0, 1, 0, 1].map((i) => {
          expect(step(nets[i])).toEqual(stock[i]);
          return execution.lastStep?.plan === plans[i];
        }),
      { onMismatch: "store" },
    );
    expect(followed).toEqual([true, false, true, true, true, true, true, true]);
  });

  test("if the first layers of a network start to train at some step, one pass is tried under the earlier plan", async () => {
    const whole = () => network(64);
    const frozen = (): Network => {
      const net = whole();
      return { ...net, parameters: Object.fromEntries(Object.entries(net.parameters).slice(3)) };
    };
    const kinds = [frozen, whole];
    const plans = [await planFor(frozen), await planFor(whole)];
    const nets = kinds.map((build) => build());
    const stock = nets.map(step);
    const followed = withPlan(
      plans,
      (execution) =>
        [0, 0, 0, 1, 1, 1, 1].map((i) => {
          expect(step(nets[i])).toEqual(stock[i]);
          return execution.lastStep?.plan === plans[i];
        }),
      { onMismatch: "store" },
    );
    expect(followed).toEqual([true, true, true, false, true, true, true]);
  });

  test("each takes the gradients that it was made for", async () => {
    const kinds = [() => network(64, { layer: normalized }), () => network(48, { width: 24, layer: normalized })];
    const stop = fasterGradients();
    const faster = await planFor(kinds[0]).finally(stop);
    const plans = [faster, await planFor(kinds[1])];
    expect(plans.map(({ subject }) => subject.fasterGradients)).toEqual(["equal", undefined]);
    const nets = kinds.map((build) => build());
    const stock = nets.map(step);
    for (const order of [plans, plans.toReversed()])
      withPlan(order, (execution) => {
        for (const i of [0, 1, 1, 0]) {
          expect(step(nets[i])).toEqual(stock[i]);
          expect(execution.lastStep?.plan).toBe(plans[i]);
        }
      });
  });

  test("within a budget, too, which tells whose was followed", async () => {
    const kinds = [() => network(64), () => network(48, { width: 24 })];
    const plans = [await planFor(kinds[0]), await planFor(kinds[1])];
    const nets = kinds.map((build) => build());
    const stock = nets.map(step);
    withMemoryBudget(
      "1MB",
      (execution) => {
        for (const i of [0, 1, 1, 0]) {
          expect(step(nets[i])).toEqual(stock[i]);
          expect(execution.lastStep?.plan).toBe(plans[i]);
        }
      },
      { plan: plans },
    );
  });

  test("within a budget, of plans that begin alike, the one is followed that no pass with the same gradients has left", async () => {
    const plans = [
      await planFor(() => network(64, { last: tf.exp })),
      await planFor(() => network(64, { last: tf.square })),
    ];
    // The second is asked for some of the gradients only.
    const nets = [network(64, { last: tf.exp }), network(64, { last: tf.square })];
    const other = { ...nets[0], parameters: Object.fromEntries(Object.entries(nets[0].parameters).slice(1)) };
    const runs = [nets[1], other, nets[1], other, nets[1]];
    const stock = runs.map(step);
    const followed = withMemoryBudget(
      "1MB",
      (execution) =>
        runs.map((net, i) => {
          expect(step(net)).toEqual(stock[i]);
          return execution.lastStep?.plan === plans[1];
        }),
      { plan: plans, online: true },
    );
    expect(followed).toEqual([false, false, true, false, true]);
  });

  test("a pass that none is for is refused unless it may store more; a list that holds what is none is refused at once", async () => {
    const plans = [await planFor(() => network(64)), await planFor(() => network(48))];
    expect(() => withPlan(plans, () => step(network(40)))).toThrow(
      /op 0 differs from the plan for 'model', the closest of 2 plans: expected .*float32\[64,32\], found .*float32\[40,32\]/,
    );
    for (const wrong of [[], [plans[0], undefined]])
      expect(() => applyPlan(wrong as Plan[])).toThrow(expect.objectContaining({ code: "PLAN_SUBJECT" }));
  });
});
