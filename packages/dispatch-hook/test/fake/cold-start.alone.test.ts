import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { expect, test } from "vitest";
import { fakeMode, fakeTensor } from "../../src/fake/index.js";

const chosen = (): unknown[] => {
  const { backendName, registry } = tf.engine();
  return [backendName, Object.keys(registry), "backendInstance" in tf.engine(), "profiler" in tf.engine()];
};

// The order matters: the first test runs before any backend is chosen.
test("needs no real backend, and chooses none", () => {
  const before = chosen();
  expect(before[0]).toBeUndefined();
  const x = fakeTensor([2, 3]);
  expect(fakeMode(() => tf.matMul(x as tf.Tensor2D, tf.ones([3, 4])).shape)).toEqual([2, 4]);
  x.dispose();
  expect(chosen()).toEqual(before);
});

test("profiles kernels", async () => {
  const profile = await fakeMode(() => tf.profile(() => tf.tidy(() => void tf.relu(tf.ones([2, 2])))));
  expect(profile.kernels.map(({ name, outputShapes }) => [name, outputShapes])).toEqual([["Relu", [[2, 2]]]]);
});

test("waits for no backend that is still starting", async () => {
  const starting = tf.setBackend("wasm");
  expect(() => fakeMode(() => 1)).toThrow(/Backend 'wasm' is still starting. Call await tf.ready\(\)/);
  await starting;
  expect(fakeMode(() => 1)).toBe(1);
  expect(tf.getBackend()).toBe("wasm");
});
