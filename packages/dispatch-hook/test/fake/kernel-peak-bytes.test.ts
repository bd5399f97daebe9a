import { type Storage, withDispatchMode } from "@remat/dispatch-hook";
import { type BackendName } from "@remat/dispatch-hook/backends";
import { checkedShare } from "@remat/testkit/checked-share";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { kernelsOf } from "../../src/backends/kernel-rules.js";
import { fakeableBackend } from "../../src/fake/fakeable-backend.js";
import { fakeMode, kernelPeakBytes, surelyFits } from "../../src/fake/index.js";
import { allGenerators } from "../kernels/generators/all-generators.js";
import { type KernelCase, kernelCase, t } from "../kernels/generators/kernel-case.js";
import { runCase } from "./run-case.js";

beforeAll(() => tf.setBackend("cpu"));

/** The peak of a kernel as the hook sees it in the open fake mode, and the earlier prediction. */
function peaks(
  backend: BackendName,
  kernel: string,
  of: KernelCase,
): { told: number | undefined; held: number } | undefined {
  let told: number | undefined;
  let bytes = 0;
  let held = 0;
  let isRunning = false;
  let isDone = false;
  const made = new Set<Storage>();
  const { error } = withDispatchMode(
    {
      opComing(name, inputs, attributes) {
        if (name !== kernel || isDone) return;
        told = kernelPeakBytes(backend, name, inputs, attributes);
        // For a call that is now known.
        expect({ kernel, told: kernelPeakBytes(backend, name, inputs, attributes) }).toEqual({ kernel, told });
        if (told !== undefined)
          expect({ kernel, fits: surelyFits(backend, name, inputs, told - 1) }).toEqual({ kernel, fits: false });
      },
      opStarting(op) {
        isRunning = op.kernel === kernel && !isDone;
      },
      storageAllocated(storage) {
        if (!isRunning) return;
        made.add(storage);
        bytes += storage.bytes;
        held = Math.max(held, bytes);
      },
      storageReleased(storage) {
        if (isRunning && made.delete(storage)) bytes -= storage.bytes;
      },
      opDone(op) {
        if (op.kernel !== kernel) return;
        isRunning = false;
        isDone = true;
      },
    },
    () => runCase(kernel, of),
  );
  return error === undefined && isDone ? { told, held } : undefined;
}

describe.each(["cpu", "wasm", "tensorflow"] as const)(
  "before a kernel runs, what it will hold on %s is told",
  (backend) => {
    test("for every kernel", () => {
      const compared = new Set<string>();
      const compareAll = (): void => {
        const given = checkedShare();
        for (const kernel of kernelsOf(fakeableBackend(backend).kernels))
          fc.assert(
            fc.property(allGenerators[kernel], (of) => {
              const found = peaks(backend, kernel, of);
              // Nothing is predicted for data-dependent results.
              if (!given(found?.told)) return;
              compared.add(kernel);
              // Views within what native composes of ops are told as buffers.
              if (backend === "tensorflow")
                expect({ kernel, most: Math.max(found.told, found.held) }).toEqual({ kernel, most: found.told });
              else expect({ kernel, ...found }).toEqual({ kernel, told: found.held, held: found.held });
            }),
            { seed: 20_241_122, numRuns: 12 },
          );
      };
      // Opened once: that takes longer than a kernel.
      fakeMode(compareAll, { backend });
      expect(compared.size).toBeGreaterThan(130);
    });

    test("in the midst of a gradient, which is not disturbed", () => {
      const of = kernelCase({ x: t([4, 8]) }, { alpha: 0 });
      const gradient = fakeMode(
        () =>
          tf.grad((x) => {
            expect(peaks(backend, "Step", of)?.told).toBe(peaks(backend, "Step", of)?.held);
            return tf.mul(x, x);
          })(tf.ones([3])).shape,
        { backend },
      );
      expect(gradient).toEqual([3]);
    });
  },
);

describe("the result for one call does not apply to others", () => {
  const inputs = (...shapes: number[][]) => Object.fromEntries(shapes.map((shape, i) => ["xab"[i], tf.zeros(shape)]));
  test.each([
    [
      "of other attributes",
      "Slice",
      [inputs([4, 8]), { begin: [0, 0], size: [4, 2] }],
      [inputs([4, 8]), { begin: [0, 0], size: [2, 8] }],
    ],
    [
      "of other shapes of as many elements",
      "Tile",
      [inputs([4, 8]), { reps: [2, 1] }],
      [inputs([8, 4]), { reps: [3, 1] }],
    ],
    ["of another dtype", "Sum", [inputs([4, 8]), { axis: [0] }], [{ x: tf.zeros([4, 8], "bool") }, { axis: [1] }]],
  ] as const)("%s", (_, kernel, first, second) => {
    const alone = kernelPeakBytes("cpu", kernel, second[0], second[1]);
    const bytes = kernelPeakBytes("cpu", kernel, first[0], first[1]);
    expect(kernelPeakBytes("cpu", kernel, second[0], second[1])).toBe(alone);
    expect(bytes).not.toBe(alone);
  });
});

test.each([
  {
    shapes: [
      [4, 8],
      [4, 8],
    ],
    most: 32,
  },
  { shapes: [[4, 8], []], most: 32 },
  { shapes: [[8], [4, 8]], most: 32 },
  {
    shapes: [
      [4, 1],
      [1, 8],
    ],
    most: undefined,
  },
  { shapes: [[1, 1, 1], [8]], most: undefined },
])("that a kernel surely fits is told of $shapes", ({ shapes, most }) => {
  const [a, b] = shapes.map((shape) => tf.zeros(shape));
  const needed = kernelPeakBytes("tensorflow", "Add", { a, b }, {});
  expect(surelyFits("tensorflow", "Add", { a, b }, 8 * (most ?? 1e6))).toBe(most !== undefined);
  expect(surelyFits("tensorflow", "Add", { a, b }, (needed ?? 0) - 1)).toBe(false);
  expect(surelyFits("cpu", "MatMul", { a, b }, 1e9)).toBe(false);
  // Native computes it by other ops.
  expect(surelyFits("tensorflow", "Step", { x: a }, 1e9)).toBe(false);
});

test("the peak of a kernel that is replaced by other ops is theirs", () => {
  const of = kernelCase({ x: t([64, 32]) }, { alpha: 0 });
  const found = (fasterGradients: "equal" | undefined) => {
    let step: ReturnType<typeof peaks>;
    const inGradient = () =>
      tf.grad((x) => {
        step = peaks("tensorflow", "Step", of);
        return tf.mul(x, x);
      })(tf.ones([3]));
    withDispatchMode(fasterGradients === undefined ? {} : { fasterGradients }, () =>
      fakeMode(inGradient, { backend: "tensorflow" }),
    );
    return step;
  };
  const stock = found(undefined);
  const faster = found("equal");
  expect(faster?.told).toBe(faster?.held);
  expect(faster?.told).toBeLessThan(stock?.told ?? 0);
});

test("a gradient that passes its input on takes no memory, and the query leaves nothing behind", () => {
  const found: unknown[] = [];
  const ask = (x: tf.Tensor) => {
    const before = tf.memory();
    for (const [kernel, attributes] of [
      ["Reshape", { shape: [4, 8] }],
      ["Reshape", { shape: [32] }],
      ["Cast", { dtype: "float32" }],
    ] as const)
      found.push(kernelPeakBytes("tensorflow", kernel, { x }, attributes));
    expect(tf.memory()).toEqual(before);
    return tf.mul(x, x);
  };
  withDispatchMode({ fasterGradients: "equal" }, () =>
    fakeMode(() => void tf.grad(ask)(tf.ones([4, 8])), { backend: "tensorflow" }),
  );
  // The shape of the one that is another is a tensor.
  expect(found).toEqual([0, 4, 0]);
});
