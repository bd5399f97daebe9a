import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { prepareStep } from "../src/step/index.js";

const build = (): object => {
  const w = tf.variable(tf.tensor2d([[1], [2]]), true, "w");
  return {
    forward: (x: tf.Tensor2D) => tf.matMul(x, w as unknown as tf.Tensor2D),
    parameters: { w },
    inputs: tf.tensor2d([[3, 4]]),
    loss: (y: tf.Tensor) => tf.sum(tf.square(y)),
  };
};
describe("a training step", () => {
  it.each(["none", "sgd"])("shows loss and gradients from before the update, with optimizer %s", async (optimizer) => {
    const step = await prepareStep(build, { optimizer });
    const seen: unknown[] = [];
    const before = tf.memory().numTensors;
    step.take({
      gradients: (grads) =>
        seen.push(...Object.entries(grads).map(([name, grad]) => [name.slice(0, 1), Array.from(grad.dataSync())])),
      loss: (value) => seen.push(value.dataSync()[0]),
    });
    // y = 3 + 8 = 11, its square 121; d/dw = 2 · 11 · (3, 4).
    expect(seen).toEqual([["w", [66, 88]], 121]);
    const updated = Array.from((step.definition.parameters as Record<string, tf.Variable>)["w"].dataSync());
    expect(updated).toEqual(
      optimizer === "none" ? [1, 2] : [Math.fround(1 - 0.66), Math.fround(2 - 0.88)].map((v) => expect.closeTo(v, 5)),
    );
    expect(tf.memory().numTensors - before).toBeLessThanOrEqual(1);
    step.dispose();
  });

  it("goes on without an observer as with one", async () => {
    const step = await prepareStep(build, { optimizer: "sgd" });
    const losses: number[] = [];
    step.take({ loss: (value) => losses.push(value.dataSync()[0]) });
    const before = tf.memory().numTensors;
    step.take();
    step.take({ loss: (value) => losses.push(value.dataSync()[0]) });
    expect(tf.memory().numTensors).toBe(before);
    expect(losses).toHaveLength(2);
    expect(losses[1]).toBeLessThan(losses[0]);
    step.dispose();
  });
});
