import { addBackend, type Backend, findBackend, isKnown, kernelsOfBackend } from "@remat/dispatch-hook/backends";
import { currentFakeBackend, fakeMode } from "@remat/dispatch-hook/fake";
import * as tf from "@tensorflow/tfjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withMemoryBudget } from "../../src/index.js";

/** A backend that somebody brings: the cpu backend under another name, which can do one thing less. */
const cpu = findBackend("cpu");
const kernels = kernelsOfBackend(cpu);
if (!isKnown(kernels)) throw new Error("the kernels of cpu are known");
const newcomer: Backend = {
  ...cpu,
  name: "newcomer",
  kernels: { ...kernels, lacks: new Set(["Relu"]) },
};

const chain = (x: tf.Tensor): tf.Tensor => {
  let y = x;
  for (let i = 0; i < 8; i++) y = tf.tanh(tf.mul(y, 1.5));
  return tf.sum(y);
};
const gradient = (): number[] =>
  tf.tidy(() =>
    Array.from(
      tf
        .grad(chain)(tf.linspace(-1, 1, 4096))
        .dataSync(),
    ),
  );

describe("a new backend is one object", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
    const Cpu = tf.backend().constructor as new () => tf.KernelBackend;
    tf.registerBackend("newcomer", () => new Cpu());
    tf.copyRegisteredKernels("cpu", "newcomer");
    await tf.setBackend("newcomer");
  });
  afterAll(async () => {
    await tf.setBackend("cpu");
    tf.removeBackend("newcomer");
  });

  test("with which the executor trains there, as stock to the bit, in less memory", async () => {
    const expected = gradient();
    const within = () =>
      withMemoryBudget(110_000, (execution) => ({ values: gradient(), report: execution.lastStep }), { online: true });
    expect(within).toThrow(expect.objectContaining({ code: "BACKEND_UNSUPPORTED" }));
    const remove = addBackend(newcomer);
    try {
      const { values, report } = within();
      expect(values).toEqual(expected);
      expect(report?.peakBytes).toBeLessThanOrEqual(110_000);
      expect(report?.evictions).toBeGreaterThan(0);
    } finally {
      remove();
    }
    expect(within).toThrow(expect.objectContaining({ code: "BACKEND_UNSUPPORTED" }));
  });

  test("for which fake mode stands, and says what it lacks", () => {
    expect(
      fakeMode(() => [currentFakeBackend(), tf.matMul(tf.ones([2, 3]), tf.ones([3, 4])).shape], { backend: newcomer }),
    ).toEqual(["newcomer", [2, 4]]);
    expect(() => fakeMode(() => tf.relu(tf.ones([2])), { backend: newcomer })).toThrow(
      /Kernel Relu is not supported by the newcomer backend/,
    );
  });

  test("whose name must be free", () => {
    expect(() => addBackend({ ...newcomer, name: "wasm" })).toThrow(expect.objectContaining({ code: "BACKEND_KNOWN" }));
  });
});
