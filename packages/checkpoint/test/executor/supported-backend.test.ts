import type { Plan } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyPlan, checkpoint, endCheckpointing, releaseEarly, withMemoryBudget, withPlan } from "../../src/index.js";

const backends: Readonly<Record<string, RegExp>> = {
  mine: /on the backend 'mine': remat does not know which tensors share memory there\. Select cpu, tensorflow \(native\), wasm, webgl or webgpu with selectBackend/,
  theirs: /on the backend 'theirs': .*releaseEarly\(\), which works/,
};

beforeEach(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => endCheckpointing());

/** A backend of that name that computes on the cpu backend's kernels, as long as `run` runs. */
async function onBackend(name: string, run: () => void): Promise<void> {
  const Cpu = tf.backend().constructor as new () => tf.KernelBackend;
  tf.registerBackend(name, () => new Cpu());
  tf.copyRegisteredKernels("cpu", name);
  try {
    await tf.setBackend(name);
    run();
  } finally {
    await tf.setBackend("cpu");
    tf.removeBackend(name);
    for (const { kernelName } of tf.getKernelsForBackend(name)) tf.unregisterKernel(kernelName, name);
  }
}

const gradient = (): number[] =>
  tf.tidy(() => [
    ...tf
      .grad((x) => tf.sum(tf.tanh(tf.square(x))))(tf.tensor1d([1, -2]))
      .dataSync(),
  ]);

describe.each(Object.entries(backends))("the backend %s", (name, reason) => {
  test("is refused by name, with the reason; early release works, and nothing is left behind", async () => {
    const plan = { subject: { kind: "trace", name: "none" }, ops: [], sources: [], steps: [] } as unknown as Plan;
    const expected = gradient();
    await onBackend(name, () => {
      const before = tf.memory();
      for (const run of [
        () => applyPlan(plan),
        () => withPlan(plan, gradient),
        () => withMemoryBudget(1e6, gradient),
        () => withMemoryBudget("50%", gradient, { online: true }),
        () => {
          const block = checkpoint((x: tf.Tensor) => tf.sum(tf.tanh(x)));
          tf.tidy(() => void tf.grad(block)(tf.ones([2])));
        },
      ])
        expect(run).toThrow(
          expect.objectContaining({ code: "BACKEND_UNSUPPORTED", message: expect.stringMatching(reason) }),
        );
      endCheckpointing();
      const stop = releaseEarly();
      expect(gradient()).toEqual(expected);
      stop();
      expect(tf.memory()).toEqual(before);
    });
    expect(gradient()).toEqual(expected);
  });

  test("is refused where a budget was opened on another", async () => {
    const expected = gradient();
    await withMemoryBudget(1e6, async () => {
      expect(gradient()).toEqual(expected);
      await onBackend(name, () => expect(gradient).toThrow(reason));
      expect(gradient()).toEqual(expected);
    });
  });
});
