import { withDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, expect, test } from "vitest";
import { checkpoint, endCheckpointing, releaseEarly, withMemoryBudget } from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => endCheckpointing());

test("modes around an executor are told of its passes", () => {
  const x = tf.ones([4]);
  const f = tf.grad((y) => tf.sum(tf.square(y)));
  const told: string[] = [];
  const mode = {
    gradients: (_call: unknown, next: () => never) => {
      told.push("gradients");
      return next();
    },
    gradientsDone: () => void told.push("done"),
  };
  withDispatchMode(mode, () => {
    withMemoryBudget(1e6, () => f(x), { online: true });
    const stop = releaseEarly();
    f(x);
    stop();
  });
  expect(told).toEqual(["gradients", "done", "gradients", "done"]);
});

test("blocks leave passes to a budget, whichever was opened first", () => {
  const x = tf.ones([4]);
  const run = (block: (y: tf.Tensor) => tf.Tensor) => [
    ...tf
      .grad((y) => tf.sum(tf.square(block(y))))(x)
      .dataSync(),
  ];
  const inside = (y: tf.Tensor) => tf.sin(tf.cos(y));
  const expected = run(inside);
  const early = checkpoint(inside);
  const pass = withMemoryBudget(
    1e6,
    (execution) => {
      const late = checkpoint(inside);
      expect(run(early)).toEqual(expected);
      expect(run(late)).toEqual(expected);
      return execution.lastStep;
    },
    { online: true },
  );
  expect(pass?.recomputedOps).toBe(0);
});
