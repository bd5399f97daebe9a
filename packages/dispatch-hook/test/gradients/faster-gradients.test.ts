import { spawnSync } from "node:child_process";
import { type Backend, findBackend } from "@remat/dispatch-hook/backends";
import { type BackendName, selectBackend, usesGpuNow } from "@remat/dispatch-hook/backends/node";
import { nativeApp } from "@remat/testkit";
import type { FasterGradients } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import type { GradFunc } from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { functionDigest } from "../../src/gradients/function-of-tfjs.js";
import { isKnownGradient, kernelsWithKnownGradients } from "../../src/gradients/gradients-of-tfjs.js";
import { replacedGradients } from "../../src/gradients/replace-gradient.js";
import { replacedKernels } from "../../src/gradients/replace-kernels.js";
import { type DispatchMode, withDispatchMode } from "../../src/index.js";
import { bitsOf, numbers, tensorOf } from "./special-values.js";

const nativeFolder = nativeApp();
const backends: readonly BackendName[] = nativeFolder === undefined ? ["cpu", "wasm"] : ["cpu", "wasm", "tensorflow"];

/** An op that adds in order on a backend; none on backends other than these three. */
const addsRepeats = (backend: BackendName): string =>
  backend === "cpu" || usesGpuNow(findBackend(backend)) ? "AddN" : "UnsortedSegmentSum";

/** Has a backend say that it adds so, until the test is over. */
function addingAs(backend: BackendName, { segments, mostInputs }: { segments: boolean; mostInputs: number }): void {
  const known: { -readonly [K in "addsSegmentsInOrder" | "mostAddedInOrder"]?: Backend[K] } = findBackend(backend);
  const { addsSegmentsInOrder, mostAddedInOrder } = known;
  Object.assign(known, { addsSegmentsInOrder: () => segments, mostAddedInOrder: () => mostInputs });
  onTestFinished(() => {
    Object.assign(known, { addsSegmentsInOrder, mostAddedInOrder });
    if (addsSegmentsInOrder === undefined) delete known.addsSegmentsInOrder;
    if (mostAddedInOrder === undefined) delete known.mostAddedInOrder;
  });
}

interface Run {
  readonly bits: readonly Int32Array[];
  readonly kernels: readonly string[];
}

/** The gradients of `f` at `xs` for `dy`, and the kernels that ran in the backward pass. */
function differentiate(
  wanted: FasterGradients | "none",
  f: (...xs: tf.Tensor[]) => tf.Tensor,
  xs: readonly tf.Tensor[],
  dy: tf.Tensor,
): Run {
  const kernels: string[] = [];
  const watch: DispatchMode = { opDone: ({ kernel, differentiates }) => void (differentiates && kernels.push(kernel)) };
  return tf.tidy(() =>
    withDispatchMode({ fasterGradients: wanted }, () => {
      const grads = withDispatchMode(watch, () => tf.grads(f)([...xs], dy));
      return { bits: grads.map(bitsOf), kernels };
    }),
  );
}

const lengths = fc.integer({ min: 1, max: 4 });
/** Shapes with repeats, some of them none or many. */
const tiles = fc
  .array(fc.tuple(fc.oneof({ weight: 9, arbitrary: lengths }, fc.constant(0)), fc.integer({ min: 0, max: 9 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((axes) => ({ shape: axes.map(([length]) => length), reps: axes.map(([, count]) => count) }));

const images = fc.record({
  shape: fc.tuple(lengths, lengths, lengths, fc.integer({ min: 1, max: 9 })),
  epsilon: fc.constantFrom(0, 1e-3, 0.5),
  values: numbers,
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** The texts of gradient functions that this module registers in a process of its own. */
function textsOfGradients(module: string): Readonly<Record<string, string>> {
  const script = `await import(${JSON.stringify(module)});
    const { getGradient } = await import("@tensorflow/tfjs-core");
    const texts = ${JSON.stringify(kernelsWithKnownGradients)}.map((kernel) => [kernel, String(getGradient(kernel).gradFunc)]);
    process.stderr.write(JSON.stringify(Object.fromEntries(texts)));`;
  return JSON.parse(
    spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", cwd: import.meta.dirname })
      .stderr,
  );
}

test.each(["@tensorflow/tfjs", "@tensorflow/tfjs-layers"])(
  "each gradient function of tfjs that is replaced is known by its text, as %s registers it",
  (module) => {
    const texts = textsOfGradients(module);
    const replaced = new Set(replacedGradients.map(({ kernel }) => kernel));
    expect(kernelsWithKnownGradients).toEqual(expect.arrayContaining([...replaced]));
    for (const kernel of kernelsWithKnownGradients) {
      const like = { toString: () => texts[kernel] } as unknown as GradFunc;
      expect([kernel, isKnownGradient(kernel, like)]).toEqual([kernel, true]);
    }
  },
);

/** Pairs of shapes, the second of which broadcasts with the first, or is the same, or the other way round. */
const operands = fc
  .tuple(fc.array(fc.oneof({ weight: 9, arbitrary: lengths }, fc.constant(0)), { maxLength: 4 }), fc.nat(), fc.nat(2))
  .map(([shape, ones, cut]) => [
    shape,
    shape.map((length, axis) => (length > 0 && (ones >> axis) % 4 === 0 ? 1 : length)).slice(cut),
  ]);

/**
 * Ops that run `Reshape` or `Cast` in their gradient, or themselves, on inputs that already have that shape and dtype,
 * or do not.
 */
const unchanging: Readonly<Record<string, (a: tf.Tensor, b: tf.Tensor) => tf.Tensor>> = {
  add: tf.add,
  sub: tf.sub,
  mul: tf.mul,
  div: tf.div,
  cast: (a, b) => tf.mul(tf.cast(a, "float32"), tf.cast(b, "float32")),
  reshape: (a, b) => tf.add(tf.reshape(a, a.shape), tf.reshape(b, [...b.shape, 1].slice(0, -1))),
  "flattened and back": (a, b) => tf.mul(tf.reshape(tf.reshape(a, [-1]), a.shape), b),
  "of one tensor twice": (a, b) => tf.add(tf.add(a, a), tf.mul(tf.relu(b), b)),
};

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => {
    await selectBackend({
      for: "training",
      backend,
      ...(backend === "tensorflow" && { from: nativeFolder as string }),
    });
  });

  test("the gradient of tile is that of tfjs to the bit, in fewer kernels where it is replaced", () => {
    fc.assert(
      fc.property(tiles, numbers, ({ shape, reps }, values) => {
        const x = tensorOf(shape, values);
        const dy = tensorOf(
          shape.map((length, axis) => length * reps[axis]),
          values,
        );
        const tile = (input: tf.Tensor) => tf.tile(input, reps);
        const stock = differentiate("none", tile, [x], dy);
        const faster = differentiate("equal", tile, [x], dy);
        expect(faster.bits).toEqual(stock.bits);
        if (dy.size > 0) expect(faster.kernels).toContain(addsRepeats(backend));
        else expect(faster.kernels).toEqual(stock.kernels);
      }),
      // Tfjs's own adds up to thousands of slices in each.
      { numRuns: 50 },
    );
  });

  test("hundreds of long repeats add up to the same bits", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 300 }),
        fc.integer({ min: 1, max: 3000 }),
        numbers,
        (reps, rows, values) => {
          const x = tensorOf([rows, 1], values);
          const dy = tensorOf([rows, reps], values);
          const tile = (input: tf.Tensor) => tf.tile(input, [1, reps]);
          expect(differentiate("equal", tile, [x], dy).bits).toEqual(differentiate("none", tile, [x], dy).bits);
        },
      ),
      { numRuns: 4 },
    );
  });

  test("the gradient of tile is tfjs's own if nothing adds in order, and a single sum if reordered", () => {
    addingAs(backend, { segments: false, mostInputs: 0 });
    const x = tf.tensor2d([[1], [2]]);
    const dy = tf.range(0, 10).reshape([2, 5]);
    const tile = (input: tf.Tensor) => tf.tile(input, [1, 5]);
    const own = differentiate("equal", tile, [x], dy);
    expect(own).toEqual(differentiate("none", tile, [x], dy));
    expect(own.kernels).toContain("Add");
    const { bits, kernels } = differentiate("reordered", tile, [x], dy);
    expect(new Float32Array(bits[0].buffer)).toEqual(Float32Array.of(10, 35));
    expect(kernels).toContain("Sum");
    expect(kernels).not.toContain("Add");
  });

  // TensorFlow's kernel for CPUs is the same expression as that for CUDA. The order in which wasm's kernel adds is not documented.
  const testInOrder = backend === "wasm" ? () => {} : test;
  testInOrder("nine at a time, the repeats add up to the same bits", () => {
    addingAs(backend, { segments: false, mostInputs: 9 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 100 }), numbers, (reps, rows, values) => {
        const x = tensorOf([rows, 1], values);
        const dy = tensorOf([rows, reps], values);
        const tile = (input: tf.Tensor) => tf.tile(input, [1, reps]);
        const { bits, kernels } = differentiate("equal", tile, [x], dy);
        expect(bits).toEqual(differentiate("none", tile, [x], dy).bits);
        expect(kernels.filter((kernel) => kernel === "AddN")).toHaveLength(Math.ceil(reps / 8));
      }),
    );
  });

  test.each([
    [8, "AddN"],
    [9, "Sum"],
  ])("reordered, %i repeats are one %s where nine inputs add in order", (reps, kernel) => {
    addingAs(backend, { segments: false, mostInputs: 9 });
    const tile = (input: tf.Tensor) => tf.tile(input, [1, reps]);
    const { kernels } = differentiate("reordered", tile, [tf.ones([2, 1])], tf.ones([2, reps]));
    expect(kernels.filter((each) => each === "AddN" || each === "Sum")).toEqual([kernel]);
  });

  test("the gradient of batch normalization is that of tfjs to the bit, without tiling", () => {
    fc.assert(
      fc.property(images, ({ shape, epsilon, values }) => {
        const depth = shape[3];
        const xs = [shape, [depth], [depth], [depth], [depth]].map((each) => tensorOf(each, values));
        const dy = tensorOf(shape, values);
        const normalize = (x: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor, offset: tf.Tensor, scale: tf.Tensor) =>
          tf.batchNorm(
            x as tf.Tensor4D,
            mean as tf.Tensor1D,
            variance as tf.Tensor1D,
            offset as tf.Tensor1D,
            scale as tf.Tensor1D,
            epsilon,
          );
        const stock = differentiate("none", normalize as never, xs, dy);
        const faster = differentiate("equal", normalize as never, xs, dy);
        expect(faster.bits).toEqual(stock.bits);
        const isReplaced = depth > 1;
        expect(faster.kernels).toEqual(stock.kernels.filter((kernel) => kernel !== "Tile" || !isReplaced));
        expect(faster.kernels.length).toBe(stock.kernels.length - (isReplaced ? 1 : 0));
      }),
      { numRuns: 100 },
    );
  });

  test("the gradients of ReLUs are those of tfjs to the bit", () => {
    fc.assert(
      fc.property(
        fc.array(lengths, { maxLength: 4 }),
        numbers,
        fc.constantFrom(tf.relu, tf.relu6),
        (shape, values, relu) => {
          const [x, dy] = [tensorOf(shape, values), tensorOf(shape, values)];
          const stock = differentiate("none", relu, [x], dy);
          expect(differentiate("equal", relu, [x], dy)).toEqual(stock);
        },
      ),
    );
  });

  test("gradients that cast and reshape to what there is are those of tfjs to the bit", () => {
    fc.assert(
      fc.property(
        operands,
        numbers,
        fc.constantFrom(...Object.keys(unchanging)),
        fc.boolean(),
        ([shape, other], values, name, releasesEarly) => {
          // A sum of nothing is on wasm whatever lay there, or a division by zero.
          fc.pre(backend !== "wasm" || ![...shape, ...other].includes(0));
          const xs = [tensorOf(shape, values), tensorOf(other, values)];
          const f = (a: tf.Tensor, b: tf.Tensor) => unchanging[name](a, b);
          const dy = tensorOf(
            tf.tidy(() => f(xs[0], xs[1]).shape),
            values,
          );
          const before = tf.memory();
          const run = (wanted: FasterGradients | "none") =>
            withDispatchMode({ releasesEarly }, () => differentiate(wanted, f as never, xs, dy));
          expect({ name, ...run("equal") }).toEqual({ name, ...run("none") });
          expect(tf.memory()).toEqual(before);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("step is that of tfjs, to the bit, also where it is not 0 below 0", () => {
    fc.assert(
      fc.property(
        fc.array(lengths, { maxLength: 3 }),
        numbers,
        fc.constantFrom(0, -1, 0.25),
        (shape, values, alpha) => {
          const x = tensorOf(shape, values);
          const stepOf = (wanted: FasterGradients | "none") =>
            withDispatchMode({ fasterGradients: wanted }, () =>
              tf.tidy(() => bitsOf(tf.valueAndGrad((y) => tf.mul(y, tf.step(x, alpha)))(x).grad)),
            );
          expect(stepOf("equal")).toEqual(stepOf("none"));
        },
      ),
    );
  });

  test("a gradient that is differentiated uses tfjs's own functions, with their values and leaks", () => {
    const x = tf.tensor4d([1, -2, 3, 4], [1, 2, 1, 2]);
    const twice = (wanted: FasterGradients | "none") => {
      const before = tf.memory().numTensors;
      const f = (y: tf.Tensor) => tf.mul(tf.relu(tf.tile(tf.square(y), [2, 1, 3, 1])), tf.tile(y, [2, 1, 3, 1])).sum();
      const bits = withDispatchMode({ fasterGradients: wanted, releasesEarly: true }, () =>
        tf.tidy(() => bitsOf(tf.grad((z) => tf.grad(f)(z).square().sum())(x))),
      );
      expect(tf.memory().numTensors).toBe(before);
      return bits;
    };
    expect(twice("equal")).toEqual(twice("none"));
  });

  test("a gradient of the user's own stays", () => {
    const config = tf.getGradient("Tile");
    vi.spyOn(console, "warn").mockImplementation(() => {});
    tf.registerGradient({
      ...config,
      gradFunc: (_: tf.Tensor | tf.Tensor[], [x]: tf.Tensor[]) => ({ x: () => tf.fill(x.shape, 7) }),
    });
    try {
      const dy = tf.ones([4]);
      const { bits } = differentiate("equal", (x) => tf.tile(x, [2]), [tf.tensor1d([1, 2])], dy);
      expect(new Float32Array(bits[0].buffer)).toEqual(Float32Array.of(7, 7));
    } finally {
      tf.registerGradient(config);
    }
  });

  test("a request for tfjs's own gradients takes precedence, and the backend's kernel is restored afterwards", () => {
    const functions = () => ["Cast", "Reshape", "Step"].map((name) => tf.getKernel(name, tf.getBackend())?.kernelFunc);
    const before = functions();
    const kernels: string[] = [];
    const watch: DispatchMode = { opDone: (op) => void kernels.push(op.kernel) };
    const run = () => tf.tidy(() => void tf.grad((x) => tf.relu(tf.tile(x, [3])))(tf.tensor1d([1, 2])));
    withDispatchMode({ fasterGradients: "none" }, () =>
      withDispatchMode(watch, () => withDispatchMode({ fasterGradients: "equal" }, run)),
    );
    expect(kernels).not.toContain("UnsortedSegmentSum");
    expect(functions()).toEqual(before);
  });
});

describe.runIf(nativeFolder !== undefined)("on tensorflow", () => {
  beforeAll(() => selectBackend({ for: "training", backend: "tensorflow", from: nativeFolder as string }));

  test("each kernel that is replaced is known by its text", () => {
    for (const { kernel, digest } of replacedKernels)
      expect([kernel, functionDigest(tf.getKernel(kernel, "tensorflow")?.kernelFunc as object)]).toEqual([
        kernel,
        digest,
      ]);
  });

  test("TensorFlow is not asked for what changes nothing", () => {
    const execute = vi.spyOn(
      tf.backend() as never as { executeSingleOutput(name: string): unknown },
      "executeSingleOutput",
    );
    const asked = (wanted: FasterGradients | "none") => {
      execute.mockClear();
      differentiate(wanted, (a, b) => tf.mul(tf.add(a, b), b), [tf.ones([4, 8]), tf.ones([8])], tf.ones([4, 8]));
      return execute.mock.calls.map(([name]) => name).filter((name) => name === "Cast" || name === "Reshape");
    };
    expect(asked("none")).toEqual(["Cast", "Cast", "Reshape", "Reshape", "Reshape"]);
    // For sums over the rows.
    expect(asked("equal")).toEqual([]);
  });
});
