import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test } from "vitest";
import { budgeted, type Program, stock } from "../users/ways.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

/**
 * Trains one weight, and then both: the same forward pass, more of which is read in the backward pass. The input of the
 * noise cannot be recomputed.
 */
const program: Program = async ({ note, pause }) => {
  const [first, last] = [1, 2].map((seed) => tf.variable(tf.randomNormal([8, 8], 0, 1, "float32", seed)));
  const x = tf.randomNormal([32, 8], 0, 1, "float32", 3);
  const pair = tf.randomNormal([1, 5], 0, 1, "float32", 4);
  const optimizer = tf.train.sgd(0.1);
  const loss = (): tf.Scalar => {
    const h = tf.tanh(tf.matMul(x, first));
    const y = tf.fused.matMul({ a: tf.sin(h), b: tf.mul(last, 2) }) as tf.Tensor2D;
    return tf.mean(tf.mul(y, tf.irfft(tf.complex(pair, pair)).slice([0, 0], [1, 8])));
  };
  for (const weights of [[first], [first], [first, last], [first, last]]) {
    tf.tidy(() => note("loss", optimizer.minimize(loss, true, weights)));
    await pause();
  }
  note("weights", first, last);
  tf.dispose([first, last, x, pair]);
};

test("a pass that is asked for other gradients than the planned one keeps the budget, to the bit", async () => {
  await stock(program);
  const expected = await stock(program);
  for (const fraction of [0.7, 0.8, 0.9, 1]) expect(await budgeted([fraction], false)(program)).toEqual(expected);
});
