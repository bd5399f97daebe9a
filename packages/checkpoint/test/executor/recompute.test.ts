import * as tf from "@tensorflow/tfjs";
import { expect, test } from "vitest";
import { EvictingPolicy, evicting } from "./evict-all.js";

test("to what many ways lead is recomputed once: a chain of forks is no more work than its ops", async () => {
  await tf.setBackend("cpu");
  const policy = new EvictingPolicy();
  const seen: number[][] = [];
  const length = 30;
  const gradient = () =>
    tf.tidy(() => {
      const dx = tf.grad((x) => {
        // Neither saves anything, so that only recipes hold what is in the middle.
        const end = tf.tidy(() => {
          let h: tf.Tensor = tf.neg(x);
          for (let i = 0; i < length; i++) h = tf.tidy(() => tf.addN([tf.neg(tf.neg(h)), tf.neg(tf.neg(h))]));
          return h;
        });
        policy.replays = 0;
        seen.push([...end.dataSync()]);
        return end.mul(2);
      })(tf.tensor1d([0.5, -1.5]));
      return [...dx.dataSync()];
    });
  const stock = [gradient(), seen.splice(0)];
  let replays = 0;
  const found = evicting(() => {
    const values = gradient();
    replays = policy.replays;
    return values;
  }, policy);
  expect([found, seen]).toEqual(stock);
  expect(replays).toBeGreaterThan(0);
  expect(replays).toBeLessThan((10 * length) ** 2);
});
