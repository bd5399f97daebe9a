import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";

type Unary = (x: tf.Tensor) => tf.Tensor;

const square = tf.customGrad((x, save) => {
  (save as (tensors: tf.Tensor[]) => void)([x as tf.Tensor]);
  const gradFunc = (dy: tf.Tensor, saved: tf.Tensor[]) => tf.mul(dy, tf.mul(saved[0], 2));
  return { value: tf.square(x as tf.Tensor), gradFunc };
});

/** Differentiable functions of a [3, 4] matrix that return one. */
const steps: Readonly<Record<string, Unary>> = {
  relu: (x) => tf.relu(x),
  tanh: (x) => tf.tanh(x),
  scale: (x) => tf.mul(x, 0.5),
  double: (x) => tf.add(x, x),
  softmax: (x) => tf.softmax(x),
  through: (x) => x.reshape([4, 3]).transpose().reshape([3, 4]),
  slices: (x) => tf.concat([x.slice([1, 0], [2, 4]), x.slice([0, 0], [1, 4])], 0),
  unstack: (x) => tf.stack(tf.unstack(x, 0).reverse()),
  product: (x) => tf.matMul(tf.matMul(x, x, false, true), x),
  fused: (x) => tf.fused.matMul({ a: x as tf.Tensor2D, b: tf.ones([4, 4]), bias: tf.ones([4]) }),
  custom: (x) => square(x),
  centre: (x) => tf.sub(x, tf.mean(x, 1, true)),
  tidied: (x) => tf.tidy(() => tf.mul(tf.sigmoid(x), tf.scalar(2))),
  kept: (x) => tf.keep(tf.neg(x)),
  disposed: (x) => {
    const half = tf.mul(x, 0.5);
    const out = tf.abs(half);
    half.dispose();
    return out;
  },
  cloned: (x) => x.clone(),
};

export interface Program {
  readonly steps: readonly string[];
  /** Each step's second use of an earlier value, by index; none if out of range. */
  readonly skips: readonly number[];
  readonly optimizer: "none" | "sgd" | "adam" | "momentum";
  readonly nested: boolean;
}

export const programs: fc.Arbitrary<Program> = fc.record({
  steps: fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 8 }),
  skips: fc.array(fc.nat(9), { minLength: 8, maxLength: 8 }),
  optimizer: fc.constantFrom("none", "sgd", "adam", "momentum"),
  nested: fc.boolean(),
});

/** Runs a program from the same state each time; returns every number that a user could see, and the engine's counts. */
export function runProgram(program: Program, around: (step: () => void) => void = (step) => step()): unknown {
  const data = Float32Array.from({ length: 12 }, (_, i) => Math.fround(Math.sin(i * 1.7)));
  const before = tf.memory();
  const w = tf.variable(tf.tensor2d(data.slice(), [3, 4]), true, "w");
  const x = tf.tensor2d(data.slice().reverse(), [3, 4]);
  const keptBefore = tf.memory().numTensors;
  const forward = (v: tf.Tensor) => {
    const values: tf.Tensor[] = [tf.mul(v, x)];
    program.steps.forEach((name, i) => {
      const next = steps[name](values[i]);
      const skip = program.skips[i];
      values.push(skip < i ? tf.add(next, values[skip]) : next);
    });
    return values[values.length - 1].sum().asScalar();
  };
  const loss = (): tf.Scalar => {
    const value = forward(w);
    if (!program.nested) return value;
    const inner = tf.grad((v) => tf.mul(tf.square(v), v).sum())(w);
    return tf.add(value, tf.mul(inner.sum(), 0.01));
  };
  const seen: unknown[] = [];
  around(() => {
    for (let step = 0; step < 2; step++) {
      if (program.optimizer === "none") {
        tf.tidy(() => {
          const { value, grads } = tf.variableGrads(loss, [w]);
          seen.push(value.dataSync(), grads.w.dataSync());
        });
      } else {
        const optimizer = tf.train[program.optimizer](0.05, 0.9);
        const cost = tf.tidy(() => optimizer.minimize(loss, true, [w]) as tf.Scalar);
        seen.push(cost.dataSync(), w.dataSync().slice());
        cost.dispose();
        optimizer.dispose();
      }
    }
  });
  // Kept tensors and slots remain; what counts is that as many remain.
  seen.push(tf.memory().numTensors - keptBefore, tf.memory().numBytes - before.numBytes);
  seen.push(tf.memory().numDataBuffers - before.numDataBuffers, tf.engine().state.numDataBuffers >= 0);
  tf.disposeVariables();
  x.dispose();
  return seen;
}
