import * as tf from "@tensorflow/tfjs";
import { grad, moments, variableGrads } from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { isOnesArray, onesArray } from "../../src/gradients/ones-array.js";
import { type DispatchMode, withDispatchMode } from "../../src/index.js";
import { valuesOf } from "../../src/residency/constants.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

afterEach(() => {
  vi.restoreAllMocks();
});

const kernels = ["Mean", "Sum"] as const;

/** Kernels with the shapes of what they make, and the data that JavaScript makes. */
class Recorder implements DispatchMode {
  readonly events: string[] = [];
  opDone({ kernel, outputs }: Parameters<NonNullable<DispatchMode["opDone"]>>[0]): void {
    this.events.push(`${kernel} ${outputs.map(({ dtype, shape }) => `${dtype}[${shape.join()}]`).join()}`);
  }
  storageAllocated(...[{ bytes }, origin]: Parameters<NonNullable<DispatchMode["storageAllocated"]>>): void {
    this.events.push(`${origin} ${bytes}`);
  }
}

function record(sharesOnes: boolean, fn: () => tf.Tensor): { bytes: Uint8Array; events: readonly string[] } {
  const recorder = new Recorder();
  const mode: DispatchMode = { releasesEarly: true, sharesOnes };
  return tf.tidy(() => {
    const result = withDispatchMode(recorder, () => withDispatchMode(mode, fn));
    return { bytes: new Uint8Array((result.dataSync() as Float32Array).slice().buffer), events: recorder.events };
  });
}

const reductions = fc
  .array(fc.integer({ min: 1, max: 5 }), { minLength: 0, maxLength: 4 })
  .chain((shape) =>
    fc.record({ shape: fc.constant(shape), axes: fc.option(fc.subarray(shape.map((_, axis) => axis))) }),
  );

describe.each(kernels)("the gradient of %s with shared ones", (kernel) => {
  const reduce = kernel === "Mean" ? tf.mean : tf.sum;

  test("runs the kernels of stock on the same values", () => {
    fc.assert(
      fc.property(reductions, fc.boolean(), ({ shape, axes }, keepDims) => {
        const values = Array.from({ length: tf.util.sizeFromShape(shape) }, (_, i) => Math.fround(0.3 * i - 1));
        const program = () => {
          const x = tf.tensor(values, shape, "float32");
          return tf.grad((input) => tf.square(reduce(tf.square(input), axes ?? undefined, keepDims)).sum())(x);
        };
        expect(record(true, program)).toEqual(record(false, program));
      }),
    );
  });

  test("may itself be differentiated", () => {
    const program = () =>
      grad((x) => grad((y) => reduce(tf.mul(tf.square(y), y), 0).sum() as tf.Scalar)(x).sum())(
        tf.tensor2d([
          [1, 2],
          [3, 4],
        ]),
      );
    expect(record(true, program).bytes).toEqual(record(false, program).bytes);
  });

  test("gives way to one that a user has registered", () => {
    const config = tf.getGradient(kernel);
    vi.spyOn(console, "warn").mockImplementation(() => {});
    tf.registerGradient({ ...config, gradFunc: (_, [x]) => ({ x: () => tf.fill(x.shape, 7) }) });
    try {
      const program = () => tf.grad((x) => reduce(x))(tf.tensor1d([1, 2]));
      expect(new Float32Array(record(true, program).bytes.buffer)).toEqual(new Float32Array([7, 7]));
    } finally {
      tf.registerGradient(config);
    }
  });
});

test("all ones are views of one array, as long as a mode wants them shared", () => {
  const makeTensor = vi.spyOn(tf.engine(), "makeTensor");
  const buffers = (sharesOnes: boolean) => {
    makeTensor.mockClear();
    withDispatchMode({ sharesOnes }, () => {
      const x = tf.tensor2d([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      // The longest comes first in the backward pass.
      return tf.grad((input) => moments(input, 0).variance.sum().add(input.mean()))(x);
    });
    const ones = makeTensor.mock.calls.flatMap(([values]) =>
      values instanceof Float32Array && values.length > 1 && values.every((value) => value === 1)
        ? [values.buffer]
        : [],
    );
    return { tensors: ones.length, buffers: new Set(ones).size };
  };
  const stock = buffers(false);
  expect(stock.buffers).toBe(stock.tensors);
  const shared = buffers(true);
  expect(shared.tensors).toBe(stock.tensors);
  expect(shared.buffers).toBe(1);
});

test("a constant that is recomputed is an array of its own, which whoever reads it may write to", () => {
  const restored = valuesOf({ values: undefined, fill: 1, length: 2000, make: Float32Array }) as Float32Array;
  expect(restored.every((value) => value === 1)).toBe(true);
  expect(isOnesArray(onesArray(2000))).toBe(true);
  expect(isOnesArray(restored)).toBe(false);
});

test("variables train as ever", () => {
  const train = (sharesOnes: boolean) =>
    tf.tidy(() => {
      const w = tf.variable(
        tf.tensor2d([
          [0.1, 0.2],
          [0.3, 0.4],
        ]),
      );
      const loss = () => tf.mean(tf.square(tf.matMul(w, w).sub(tf.mean(w, 1, true)))) as tf.Scalar;
      for (let i = 0; i < 5; i++)
        withDispatchMode({ sharesOnes }, () => {
          const { grads } = variableGrads(loss, [w]);
          w.assign(tf.sub(w, Object.values(grads)[0]));
        });
      return [...w.dataSync()];
    });
  expect(train(true)).toEqual(train(false));
});
