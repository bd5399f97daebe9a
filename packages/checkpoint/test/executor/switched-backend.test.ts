import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkpoint, endCheckpointing, withMemoryBudget } from "../../src/index.js";

beforeAll(async () => {
  tf.registerBackend("other", () => Object.create(tf.findBackend("cpu")) as tf.KernelBackend);
  tf.copyRegisteredKernels("cpu", "other");
});
beforeEach(() => tf.setBackend("cpu"));
afterEach(() => tf.setBackend("cpu"));

const stateOf = () => {
  const { scopeStack, activeScope, activeTape, gradientDepth, kernelDepth } = tf.engine().state;
  const { numTensors, numBytes, numDataBuffers } = tf.memory();
  return {
    scopes: scopeStack.length,
    activeScope: activeScope ?? null,
    activeTape: activeTape ?? null,
    gradientDepth,
    kernelDepth,
    numTensors,
    numBytes,
    numDataBuffers,
  };
};

const unsupported = expect.objectContaining({
  name: "RematError",
  code: "BACKEND_UNSUPPORTED",
  message: expect.stringContaining("'cpu'"),
});

/** A step that switches once it has run `before` ops of its forward pass. */
function step(x: tf.Tensor, before: number): tf.Tensor {
  return tf.grad((t) => {
    let h = t;
    for (let i = 0; i < 6; i++) {
      if (i === before) void tf.setBackend("other");
      h = tf.sin(tf.mul(h, t));
    }
    return tf.sum(h);
  })(x);
}

describe("switching the backend in the middle of a pass", () => {
  test.each([0, 1, 3, 5])("is refused under a budget, and the engine is as it was: after %i ops", async (before) => {
    const x = tf.ones([64]);
    const state = stateOf();
    for (const budget of [1e6, "60%"] as const) {
      const run = () => withMemoryBudget(budget, () => void [step(x, 99).dispose(), step(x, before).dispose()]);
      expect(run).toThrow(unsupported);
      expect(tf.getBackend()).toBe("cpu");
      expect(stateOf()).toEqual(state);
    }
    x.dispose();
  });

  test("is refused in a checkpointed function, and the engine is as it was", async () => {
    const x = tf.ones([64]);
    const state = stateOf();
    const block = checkpoint((t: tf.Tensor) => {
      void tf.setBackend("other");
      return tf.sin(tf.mul(t, t));
    });
    expect(() => tf.grad((t) => tf.sum(block(tf.tanh(t))))(x)).toThrow(unsupported);
    expect(stateOf()).toEqual(state);
    endCheckpointing();
    x.dispose();
  });
});
