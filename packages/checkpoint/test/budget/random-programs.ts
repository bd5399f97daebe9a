import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";

/** Ops of a loss: each applies to a matrix `x`, and may read the square weight `w`. */
export const ops: readonly ((x: tf.Tensor, w: tf.Tensor) => tf.Tensor)[] = [
  (x, w) => tf.matMul(x, w),
  (x) => tf.tanh(x),
  (x) => tf.softmax(x),
  (x) => tf.mul(x, tf.mean(x, 0, true)),
  (x) => tf.add(tf.gather(x, tf.range(0, x.shape[0], 1, "int32")), x),
  (x) => tf.relu(tf.reshape(tf.transpose(tf.reshape(x, [4, -1])), x.shape)),
  (x) => tf.add(x, tf.reverse(x, 0)),
  (x) => tf.mul(x, tf.tensor1d(new Float32Array(x.shape[1] as number).map((_, i) => 1 / (i + 1)))),
];

const optimizers = {
  sgd: () => tf.train.sgd(0.01),
  adam: () => tf.train.adam(0.01),
  rmsprop: () => tf.train.rmsprop(0.01),
};

/** Three steps of training on a batch of this many rows. The loss applies the ops, which are indices, in a chain. */
export interface RandomProgram {
  readonly ops: readonly number[];
  readonly batch: number;
  readonly optimizer: keyof typeof optimizers;
  /** True if the program calls the optimizer with its gradients, instead of `minimize`. */
  readonly appliesGradients: boolean;
}

export const randomPrograms: fc.Arbitrary<RandomProgram> = fc.record({
  ops: fc.array(fc.nat(ops.length - 1), { minLength: 1, maxLength: 12 }),
  batch: fc.integer({ min: 1, max: 12 }).map((n) => 4 * n),
  optimizer: fc.constantFrom<keyof typeof optimizers>("sgd", "adam", "rmsprop"),
  appliesGradients: fc.boolean(),
});

/** Trains within `around`, which gets a function that runs the steps and `pause` after each. Returns the weights. */
export async function trainProgram(
  { ops: chosen, batch, optimizer: name, appliesGradients }: RandomProgram,
  around: (run: (pause?: () => Promise<unknown>) => Promise<void>) => Promise<void> = (run) => run(),
): Promise<number[]> {
  const w = tf.tidy(() => tf.variable(tf.randomNormal([8, 8], 0, 0.3, "float32", 1)));
  const x = tf.randomNormal([batch, 8], 0, 1, "float32", 2);
  const optimizer = optimizers[name]();
  const loss = () =>
    tf.mean(
      tf.square(chosen.reduce((y: tf.Tensor, op) => (ops[op] as (typeof ops)[0])(y, w), tf.matMul(x, w))),
    ) as tf.Scalar;
  const step = () => {
    if (!appliesGradients) return void optimizer.minimize(loss, false, [w]);
    const { value, grads } = optimizer.computeGradients(loss, [w]);
    optimizer.applyGradients(grads as never);
    tf.dispose([value, grads] as never);
  };
  try {
    await around(async (pause = async () => {}) => {
      for (let i = 0; i < 3; i++) {
        tf.tidy(step);
        await pause();
      }
    });
    return [...w.dataSync()];
  } finally {
    optimizer.dispose();
    tf.dispose([w, x]);
  }
}
