import type { DispatchMode } from "@remat/dispatch-hook";
import { withDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { releaseEarly } from "../../src/index.js";
import { seeded } from "../training.js";

/** A random program over square weights: each op takes earlier results and weights, so that some are tied, some shared and some unused. */
export interface RandomProgram {
  readonly optimizer: string;
  readonly weightCount: number;
  readonly ops: readonly { readonly kind: number; readonly left: number; readonly right: number }[];
  /** Which variables `minimize` is given, and in which order; undefined: none. */
  readonly listed: readonly number[] | undefined;
  /** One that cannot be trained. */
  readonly frozen: number;
  readonly steps: number;
}

export const randomProgram = (optimizers: readonly string[]): fc.Arbitrary<RandomProgram> =>
  fc.record({
    optimizer: fc.constantFrom(...optimizers),
    weightCount: fc.integer({ min: 1, max: 5 }),
    ops: fc.array(fc.record({ kind: fc.nat(6), left: fc.nat(30), right: fc.nat(30) }), { minLength: 1, maxLength: 10 }),
    listed: fc.option(fc.uniqueArray(fc.nat(4), { minLength: 1, maxLength: 5 }), { nil: undefined }),
    frozen: fc.nat(6),
    steps: fc.integer({ min: 1, max: 4 }),
  });

const size = 3;

const squareOfOnesOwn = tf.customGrad(((p: tf.Tensor, save: (tensors: tf.Tensor[]) => void) => {
  save([p]);
  return { value: tf.square(p), gradFunc: (dy: tf.Tensor, [saved]: tf.Tensor[]) => tf.mul(dy, tf.mul(saved, 2)) };
}) as never);

/**
 * Runs a program and returns losses, weights, slots, iteration counts, errors and left-over tensors. Weights get
 * explicit names, since an optimizer finds them by name. The names are not numbers, which tfjs never uses and which
 * objects list first and by size.
 */
export function runProgram(program: RandomProgram, makeOptimizer: () => tf.Optimizer): unknown[] {
  const before = tf.memory();
  const weights = seeded(5, () =>
    Array.from({ length: program.weightCount }, (_, i) =>
      tf.tidy(() =>
        tf.variable(
          tf.randomNormal([size, size], 0, 0.5),
          i !== program.frozen,
          i % 2 === 0 ? `w${i}` : String(4e9 - i),
        ),
      ),
    ),
  );
  const x = seeded(6, () => tf.randomNormal([size, size]));
  const optimizer = makeOptimizer();
  const loss = () => {
    const values: tf.Tensor[] = [x, ...weights];
    for (const { kind, left, right } of program.ops) {
      const a = values[left % values.length];
      const b = values[right % values.length];
      const made = [
        () => tf.matMul(a, b),
        () => tf.add(a, b),
        () => tf.mul(a, b),
        () => tf.tanh(a),
        () => tf.sub(tf.transpose(a), b),
        () => tf.concat([a, b], 0).slice([1, 0], [size, size]),
        () => squareOfOnesOwn(a),
      ][kind]();
      values.push(made);
    }
    return tf.mean(tf.tanh(tf.addN(values.slice(-3)))) as tf.Scalar;
  };
  const listed = program.listed?.filter((i) => i < weights.length).map((i) => weights[i]);
  const seen: unknown[] = [];
  let hasFailed = false;
  for (let step = 0; step < program.steps; step++) {
    try {
      const value = optimizer.minimize(loss, true, listed) as tf.Scalar;
      seen.push([...value.dataSync()]);
      value.dispose();
    } catch (error) {
      seen.push((error as Error).message);
      hasFailed = true;
      break;
    }
  }
  seen.push(
    weights.map((weight) => [...new Uint32Array(weight.dataSync().slice().buffer)]),
    optimizer.iterations,
    slotsOf(optimizer),
  );
  optimizer.dispose();
  tf.dispose([x, ...weights]);
  const { numTensors, numBytes, numDataBuffers } = tf.memory();
  // After a failure unmodified tfjs leaves saved tensors.
  if (!hasFailed)
    seen.push([numTensors - before.numTensors, numBytes - before.numBytes, numDataBuffers - before.numDataBuffers]);
  return seen;
}

/** All tensors that an optimizer holds, to the bit, by the field they are in. */
function slotsOf(optimizer: tf.Optimizer): unknown {
  const bits = (tensor: tf.Tensor) => [...new Uint32Array(tensor.dataSync().slice().buffer)];
  return Object.entries(optimizer).flatMap(([field, value]): unknown[] => {
    if (value instanceof tf.Tensor) return [[field, bits(value)]];
    if (!Array.isArray(value)) return [];
    return [
      [
        field,
        (value as { originalName: string; variable: tf.Tensor }[]).map((slot) => [
          slot.originalName,
          bits(slot.variable),
        ]),
      ],
    ];
  });
}

/** Runs it with weights updated in the backward pass. Also tells how many were, while a pass ran. */
export function inBackward<T>(run: () => T): { result: T; updates: number } {
  let updates = 0;
  let isPassing = false;
  const watch: DispatchMode = {
    gradients(_, next) {
      isPassing = true;
      try {
        return next();
      } finally {
        isPassing = false;
      }
    },
    // Adam's powers of its betas are scalars.
    variableAssigned: ({ trainable, rank }, made) => void (isPassing && trainable && rank > 0 && !made && updates++),
  };
  const stop = releaseEarly({ updateInBackward: true });
  try {
    return { result: withDispatchMode(watch, run), updates };
  } finally {
    stop();
  }
}
