import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, it } from "vitest";
import { withMemoryBudget } from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

it("finding an op's first read adds no more memory than is evicted for it, even with a full budget", async () => {
  const shape: [number, number] = [64, 64];
  const bytes = 4 * 64 * 64;
  const values = (seed: number) => tf.randomUniform(shape, 0.5, 1.5, "float32", seed);
  const [x, y] = [values(1), values(2)];
  const loss = (scale: tf.Variable) => () => {
    let hidden: tf.Tensor = x;
    for (let layer = 0; layer < 20; layer++) hidden = tf.relu(tf.sub(tf.mul(hidden, scale), 0.1));
    return tf.mean(tf.squaredDifference(hidden, y)) as tf.Scalar;
  };
  const train = () => {
    const scale = tf.variable(values(3));
    const optimizer = tf.train.sgd(0.01);
    return [1, 2].map(() => (optimizer.minimize(loss(scale), true) as tf.Scalar).dataSync()[0]);
  };
  const stock = train();
  expect(await withMemoryBudget(18.5 * bytes, async () => train())).toEqual(stock);
});
