import { RuntimeSource, type Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { seeded } from "./training.js";

const size = 16;

type Op = (x: tf.Tensor, w: tf.Variable) => tf.Tensor;

/** Differentiable functions of a square matrix that return one. */
const ops: Readonly<Record<string, Op>> = {
  product: (x, w) => tf.matMul(x, w),
  tanh: (x) => tf.tanh(x),
  relu6: (x) => tf.relu6(x),
  scale: (x) => tf.mul(x, 0.5),
  weigh: (x, w) => tf.mul(x, w),
  softmax: (x) => tf.softmax(x),
  turn: (x) => tf.transpose(tf.reshape(x, [size * 2, size / 2])).reshape([size, size]),
  halves: (x) => tf.concat(tf.split(x, 2).reverse()),
  rows: (x) => tf.stack(tf.unstack(x).reverse()),
  centre: (x) => tf.sub(x, tf.mean(x, 1, true)),
  norm: (x) => tf.div(x, tf.add(tf.sqrt(tf.mean(tf.square(x), 0, true)), 0.1)),
  dropout: (x) => tf.dropout(x, 0.3),
  fused: (x, w) => tf.fused.matMul({ a: x as tf.Tensor2D, b: w as unknown as tf.Tensor2D, activation: "relu" }),
  tidied: (x) => tf.tidy(() => tf.mul(tf.sigmoid(tf.exp(tf.neg(x))), tf.scalar(2))),
  disposed: (x) => {
    const half = tf.mul(x, 0.5);
    const out = tf.abs(half);
    half.dispose();
    return out;
  },
  cloned: (x) => x.clone(),
  masked: (x) => tf.where(tf.cast(tf.eye(size), "bool"), x, tf.mul(x, 2)),
};

export interface Network {
  readonly layers: readonly { readonly op: string; readonly skip: number }[];
  readonly budgetFraction: number;
}

/** Networks of random ops with random skips. */
export const networks: fc.Arbitrary<Network> = fc.record({
  layers: fc.array(fc.record({ op: fc.constantFrom(...Object.keys(ops)), skip: fc.nat(8) }), {
    minLength: 2,
    maxLength: 14,
  }),
  budgetFraction: fc.constantFrom(0.4, 0.6, 0.8, 1),
});

/** Returns a model whose layers are those of a network. */
export const networkOf =
  ({ layers }: Network) =>
  () => {
    const made = seeded(11, () =>
      tf.tidy(() => layers.map(() => tf.variable(tf.mul(tf.randomNormal([size, size]), 0.3)))),
    );
    const inputs = seeded(12, () => tf.randomNormal([size, size]));
    return {
      name: "network",
      inputs,
      parameters: Object.fromEntries(made.map((weight, i) => [`network.w${i}`, weight])),
      forward: (x: tf.Tensor) => {
        const values = [tf.mul(x, made[0])];
        layers.forEach(({ op, skip }, i) => {
          const next = ops[op](values[i], made[i]);
          values.push(skip < i ? tf.add(next, values[skip]) : next);
        });
        return made.reduce((sum: tf.Tensor, weight) => tf.add(sum, tf.mul(weight, 0.01)), values[values.length - 1]);
      },
    };
  };

/** Runtimes that say nothing: any op may be the cheapest to recompute. */
export function randomlyTimed(trace: Trace, seed: number): Trace {
  const { count } = trace.ops;
  const runtimeMs = seeded(seed, () => Float64Array.from({ length: count }, () => 0.01 + Math.random() ** 4));
  return trace.withRuntimes({ runtimeMs, runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured) });
}
