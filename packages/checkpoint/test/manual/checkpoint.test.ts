import { type OpDone, withDispatchMode } from "@remat/dispatch-hook";
import { Phase } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, expect, test } from "vitest";
import {
  checkpoint,
  endCheckpointing,
  MemoryMeter,
  named,
  type SavePolicy,
  saveMatmuls,
  saveNamed,
  saveNothing,
} from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => {
  endCheckpointing();
  tf.disposeVariables();
});

type Wrap = (fn: (x: tf.Tensor) => tf.Tensor, policy?: SavePolicy) => (x: tf.Tensor) => tf.Tensor;
const plainly: Wrap = (fn) => fn;

/** Loss and gradients by name as plain numbers; the count of tensors must be as before. */
function gradientsOf(loss: () => tf.Tensor): Record<string, number[]> {
  const before = tf.memory().numTensors;
  const values = tf.tidy(() => {
    const { value, grads } = tf.variableGrads(loss as () => tf.Scalar);
    const named: Record<string, number[]> = { loss: [...value.dataSync()] };
    for (const [name, grad] of Object.entries(grads)) named[name] = [...grad.dataSync()];
    return named as never;
  }) as unknown as Record<string, number[]>;
  expect(tf.memory().numTensors).toBe(before);
  return values;
}

/** Kernels that are replayed, in order. */
function recomputedIn(run: () => unknown): string[] {
  const kernels: string[] = [];
  withDispatchMode(
    { opDone: ({ phase, kernel }: OpDone) => void (phase === Phase.recompute && kernels.push(kernel)) },
    () => tf.tidy(() => void run()),
  );
  return kernels;
}

function peakOf(run: () => unknown): number {
  const meter = new MemoryMeter();
  withDispatchMode(meter, () => tf.tidy(() => void run()));
  return meter.peakBytes;
}

function weights(...shapes: number[][]): tf.Variable[] {
  return shapes.map((shape, i) => tf.variable(tf.randomNormal(shape, 0, 0.3, "float32", 7 + i), true, `w${i}`));
}

test("a chain of blocks holds their ends, recomputes each once, and gives the same gradients", () => {
  const [w] = weights([32, 32]);
  const x = tf.ones([64, 32]);
  const chain = (wrap: Wrap) => {
    const block = wrap((h) => tf.sin(tf.exp(tf.sigmoid(tf.tanh(tf.matMul(h, w))))));
    return () => {
      let h: tf.Tensor = x;
      for (let i = 0; i < 8; i++) h = block(h);
      return tf.mean(h);
    };
  };
  const stock = chain(plainly);
  const expected = gradientsOf(stock);
  const stockPeak = peakOf(() => tf.variableGrads(stock as () => tf.Scalar));
  const manual = chain(checkpoint);
  expect(gradientsOf(manual)).toEqual(expected);
  const peak = peakOf(() => tf.variableGrads(manual as () => tf.Scalar));
  const each = 64 * 32 * 4;
  // Its input, what is inside of one block, eight ends, and a handful of gradients.
  expect(peak).toBeLessThan((1 + 5 + 8 + 5) * each);
  expect(stockPeak).toBeGreaterThan(33 * each);
  // The end of a block is there: its last op need not be recomputed.
  expect(recomputedIn(() => tf.variableGrads(manual as () => tf.Scalar))).toEqual(
    Array.from({ length: 8 }, () => ["BatchMatMul", "Tanh", "Sigmoid", "Exp"]).flat(),
  );
});

test.each([
  ["saveNothing", saveNothing, ["BatchMatMul", "Relu", "BatchMatMul", "Tanh"]],
  ["saveMatmuls", saveMatmuls, ["Relu", "Tanh"]],
  ["saveNamed", saveNamed("hidden"), ["BatchMatMul", "BatchMatMul", "Tanh"]],
  ["a predicate", ({ kernel, outputs }) => kernel === "Tanh" && outputs[0].bytes === 128, ["BatchMatMul", "Relu"]],
] as [string, SavePolicy, string[]][])("%s says what is recomputed", (_name, policy, recomputed) => {
  const [v, w] = weights([8, 8], [8, 8]);
  const x = tf.ones([4, 8]);
  const inside = (h: tf.Tensor) => tf.sin(tf.tanh(tf.matMul(named("hidden", tf.relu(tf.matMul(h, v))), w)));
  const loss = (wrap: Wrap) => {
    const block = wrap(inside, policy);
    return () => tf.sum(block(x));
  };
  const expected = gradientsOf(loss(plainly));
  const manual = loss(checkpoint);
  expect(gradientsOf(manual)).toEqual(expected);
  // The matrix product before Relu is what Relu's gradient needs.
  expect(recomputedIn(() => tf.variableGrads(manual as () => tf.Scalar))).toEqual(recomputed);
});

test("blocks in blocks: the inner one is recomputed inside of the outer one", () => {
  const [w] = weights([8, 8]);
  const x = tf.ones([4, 8]);
  const loss = (wrap: Wrap) => {
    const inner = wrap((h) => tf.tanh(tf.sigmoid(tf.matMul(h, w))));
    const outer = wrap((h) => tf.exp(inner(tf.sin(inner(h)))));
    return () => tf.mean(outer(outer(x)));
  };
  const expected = gradientsOf(loss(plainly));
  expect(gradientsOf(loss(checkpoint))).toEqual(expected);
});

test("a mask that was drawn stays, and none is drawn again", () => {
  const x = tf.ones([64]);
  let dropped: tf.Tensor | undefined;
  const block = checkpoint((h: tf.Tensor) => tf.square(tf.dropout(tf.tanh(h), 0.5)));
  const gradient = tf.grad((y) => {
    dropped = tf.keep(block(y));
    return tf.sum(dropped);
  })(x);
  const isZero = (tensor: tf.Tensor) => [...tensor.dataSync()].map((value) => value === 0);
  expect(isZero(gradient)).toEqual(isZero(dropped as tf.Tensor));
  expect(isZero(gradient)).toContain(true);
  expect(isZero(gradient)).toContain(false);
  dropped?.dispose();
});

test("a weight assigned inside a block is not read at its new value", () => {
  const [w] = weights([4, 4]);
  const start = w.clone();
  const x = tf.ones([2, 4]);
  const loss = (wrap: Wrap) => {
    const block = wrap((h) => {
      const y = tf.tanh(tf.sin(tf.matMul(h, w)));
      w.assign(tf.mul(w, 2) as tf.Variable);
      return tf.mul(y, 3);
    });
    return () => tf.sum(block(x));
  };
  const expected = gradientsOf(loss(plainly));
  w.assign(start as tf.Variable);
  expect(gradientsOf(loss(checkpoint))).toEqual(expected);
});

test("results may be several, in lists and objects, and what leaves by a closure is there when touched", () => {
  const [w] = weights([4, 4]);
  const x = tf.ones([2, 4]);
  let left: tf.Tensor | undefined;
  const inside = (h: tf.Tensor) => {
    left = tf.sin(tf.matMul(h, w));
    const b = tf.cos(left);
    return { a: tf.exp(left), rest: [b, tf.square(b)] };
  };
  const loss = (block: typeof inside) => () => {
    const { a, rest } = block(x);
    return tf.sum(tf.mul(tf.add(a, rest[0]), tf.mul(rest[1], left as tf.Tensor)));
  };
  const expected = gradientsOf(loss(inside));
  expect(gradientsOf(loss(checkpoint(inside)))).toEqual(expected);
});

test("second derivatives go through blocks", () => {
  const f = (wrap: Wrap) => {
    const block = wrap((h) => tf.sin(tf.square(h)));
    return tf.grad((x) => tf.grad((y) => tf.sum(tf.mul(block(y), y)))(x));
  };
  const x = tf.tensor1d([0.5, 1, 2]);
  const expected = [...f(plainly)(x).dataSync()];
  expect([...f(checkpoint)(x).dataSync()]).toEqual(expected);
});

test("an exception in a block leaves nothing behind, and the next step is right", () => {
  const [w] = weights([4, 4]);
  const x = tf.ones([2, 4]);
  let fails = true;
  const block = checkpoint((h: tf.Tensor) => {
    const y = tf.tanh(tf.sin(tf.matMul(h, w)));
    if (fails) throw new Error("mine");
    return y;
  });
  const loss = () => tf.sum(block(block(x)));
  const before = tf.memory().numTensors;
  expect(() => tf.variableGrads(loss as () => tf.Scalar)).toThrow("mine");
  expect(tf.memory().numTensors).toBe(before);
  fails = false;
  const found = gradientsOf(loss);
  endCheckpointing();
  expect(found).toEqual(gradientsOf(loss));
});

test("outside of a gradient, and after the end of checkpointing, a block is its function", () => {
  const block = checkpoint((h: tf.Tensor) => tf.sin(tf.cos(h)));
  const x = tf.ones([3]);
  expect(recomputedIn(() => block(x).dataSync())).toEqual([]);
  endCheckpointing();
  expect(recomputedIn(() => tf.grad((y) => tf.sum(block(y)))(x))).toEqual([]);
});

const steps = ["sin", "tanh", "sigmoid", "square", "matMul", "add", "mul", "reshape"] as const;
const unary = { sin: tf.sin, tanh: tf.tanh, sigmoid: tf.sigmoid, square: tf.square };
interface Program {
  readonly ops: readonly (readonly [(typeof steps)[number], number])[];
  readonly cuts: readonly (readonly [number, number])[];
}
const programs: fc.Arbitrary<Program> = fc.record({
  ops: fc.array(fc.tuple(fc.constantFrom(...steps), fc.nat(20)), { minLength: 1, maxLength: 14 }),
  cuts: fc.array(fc.tuple(fc.nat(14), fc.nat(14)), { maxLength: 4 }),
});

/** Runs ops on a growing list of tensors; blocks surround ranges of ops, and hand out all that they have made. */
function runProgram({ ops, cuts }: Program, x: tf.Tensor, w: tf.Tensor, wrap: Wrap, policy: SavePolicy): tf.Tensor {
  const made: tf.Tensor[] = [x, tf.matMul(x as tf.Tensor2D, w as tf.Tensor2D)];
  const runRange = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const [name, pick] = ops[at];
      const a = made[made.length - 1];
      const b = made[pick % made.length];
      if (name === "matMul") made.push(tf.matMul(a as tf.Tensor2D, w as tf.Tensor2D));
      else if (name === "add") made.push(tf.add(a, b));
      else if (name === "mul") made.push(tf.mul(a, b));
      else if (name === "reshape") made.push(tf.reshape(tf.reshape(a, [-1]), a.shape));
      else made.push(unary[name](a));
    }
  };
  const runWith = (from: number, to: number, rest: Program["cuts"]): void => {
    const [cut, ...inner] = rest;
    if (cut === undefined) {
      runRange(from, to);
      return;
    }
    const [start, end] = [Math.min(...cut), Math.max(...cut)].map((at) => Math.min(to, Math.max(from, at)));
    runWith(from, start, []);
    wrap(() => {
      runWith(start, end, inner);
      return made[made.length - 1];
    }, policy)(x);
    runWith(end, to, []);
  };
  runWith(0, ops.length, cuts);
  return tf.sum(tf.tanh(made[made.length - 1]));
}

test("any program, with blocks anywhere, has stock's gradients to the bit and leaves as many tensors", () => {
  let recomputed = 0;
  fc.assert(
    fc.property(programs, fc.constantFrom(saveNothing, saveMatmuls), (program, policy) => {
      const before = tf.memory();
      const run = (wrap: Wrap) =>
        tf.tidy(() => {
          const x = tf.linspace(-1, 1, 9).reshape([3, 3]);
          const w = tf.linspace(-0.5, 0.4, 9).reshape([3, 3]);
          return tf
            .grads((a, b) => runProgram(program, a, b, wrap, policy))([x, w])
            .map((grad) => [...grad.dataSync()]) as never;
        });
      const expected = run(plainly);
      checkpoint(() => 0);
      recomputed += recomputedIn(() => expect(run(checkpoint as Wrap)).toEqual(expected)).length;
      endCheckpointing();
      expect(tf.memory().numTensors).toBe(before.numTensors);
      expect(tf.memory().numBytes).toBe(before.numBytes);
    }),
    { numRuns: 200 },
  );
  expect(recomputed).toBeGreaterThan(50);
});
