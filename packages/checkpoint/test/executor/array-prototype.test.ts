import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, expect, test } from "vitest";
import { EvictingPolicy, evicting } from "./evict-all.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => {
  delete (Array.prototype as { last?: unknown }).last;
});

test("a method that somebody has put on Array.prototype is no input of a kernel", () => {
  const step = () =>
    tf.tidy(() => [
      ...tf
        .grad((t: tf.Tensor) => tf.sum(tf.sin(tf.concat([tf.tanh(t), tf.square(t), tf.addN([t, t])]))))(tf.ones([4]))
        .dataSync(),
    ]);
  const stock = step();
  // Enumerable, as by an assignment.
  (Array.prototype as { last?: unknown }).last = function (this: unknown[]) {
    return this.at(-1);
  };
  expect(evicting(step, new EvictingPolicy(() => true))).toEqual(stock);
});
