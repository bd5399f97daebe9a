import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { type BackendName, provideGradientKernels } from "@remat/dispatch-hook/backends";
import { RematError } from "@remat/trace";
import { beforeAll, describe, expect, test } from "vitest";
import { kernelsOf } from "../../src/backends/kernel-rules.js";
import { fakeableBackend } from "../../src/fake/fakeable-backend.js";
import { currentFakeBackend, fakeMode, fakeTensor } from "../../src/fake/index.js";
import { type KernelCase, kernelCase, t } from "../kernels/generators/kernel-case.js";
import { runCase } from "./run-case.js";
import { tensorflowKernels } from "./tensorflow-kernels.js";

const x = t([2, 1, 4]);
const ints = t([2, 1, 4], "int32");
const image = t([1, 4, 4, 1]);
const whole = {
  begin: [0, 0, 0],
  end: [2, 1, 4],
  beginMask: 0,
  endMask: 0,
  ellipsisMask: 0,
  newAxisMask: 0,
  shrinkAxisMask: 0,
};

/** Kernels whose data ids or dtypes are not the same on every backend. */
const cases: readonly [name: string, kernel: string, of: KernelCase][] = [
  ["Identity", "Identity", kernelCase({ x })],
  ["Reshape", "Reshape", kernelCase({ x }, { shape: [8] })],
  ["ExpandDims", "ExpandDims", kernelCase({ input: x }, { dim: 0 })],
  ["Cast to the same dtype", "Cast", kernelCase({ x }, { dtype: "float32" })],
  ["Cast of int32 to float32", "Cast", kernelCase({ x: ints }, { dtype: "float32" })],
  ["Cast of float32 to int32", "Cast", kernelCase({ x }, { dtype: "int32" })],
  ["Concat of one", "Concat", kernelCase([x], { axis: 0 })],
  ["Concat of one that is not empty", "Concat", kernelCase([t([0, 1, 4]), x], { axis: 0 })],
  ["Pack of one", "Pack", kernelCase([x], { axis: 0 })],
  ["Transpose of a unit dimension", "Transpose", kernelCase({ x }, { perm: [1, 0, 2] })],
  ["Unpack", "Unpack", kernelCase({ value: x }, { axis: 0 })],
  ["Reverse of a scalar", "Reverse", kernelCase({ x: t([]) }, { dims: [] })],
  ["StridedSlice of everything", "StridedSlice", kernelCase({ x }, { ...whole, strides: [1, 1, 1] })],
  ["StridedSlice of every second", "StridedSlice", kernelCase({ x: ints }, { ...whole, strides: [1, 1, 2] })],
  ["AvgPool of one pixel", "AvgPool", kernelCase({ x: image }, { filterSize: 1, strides: 1, pad: "valid" })],
  ["MaxPool of one pixel", "MaxPool", kernelCase({ x: image }, { filterSize: 1, strides: 1, pad: "valid" })],
  ["FloorDiv of floats", "FloorDiv", kernelCase({ a: x, b: x })],
  ["LogicalXor", "LogicalXor", kernelCase({ a: t([2], "bool"), b: t([1], "bool") })],
  [
    "ResizeBilinearGrad",
    "ResizeBilinearGrad",
    kernelCase({ images: t([1, 2, 2, 1]), dy: image }, { alignCorners: false }),
  ],
  ["Mean", "Mean", kernelCase({ x }, { axis: [0], keepDims: true })],
  ["Sum", "Sum", kernelCase({ x }, { axis: [0, 2], keepDims: false })],
  ["Softmax", "Softmax", kernelCase({ logits: x }, { dim: 2 })],
  [
    "Conv2D",
    "Conv2D",
    kernelCase({ x: image, filter: t([2, 2, 1, 3]) }, { strides: 1, pad: "same", dilations: 1, dataFormat: "NHWC" }),
  ],
];

describe("fake mode returns what the backend returns that it stands for", () => {
  beforeAll(async () => {
    await tf.setBackend("wasm");
  });

  test.each(cases)("wasm: %s", (_, kernel, of) => {
    expect(fakeMode(() => runCase(kernel, of), { backend: "wasm" })).toEqual(runCase(kernel, of));
  });

  test.each(["BatchMatMul", "_FusedMatMul"])("wasm: %s refuses whole numbers", (kernel) => {
    const of = kernelCase(
      { a: t([1, 2, 2], "int32"), b: t([1, 2, 2]) },
      { transposeA: false, transposeB: false, activation: "linear" },
    );
    expect(runCase(kernel, of).error).toBeInstanceOf(Error);
    expect(String(fakeMode(() => runCase(kernel, of), { backend: "wasm" }).error)).toMatch(
      /int32 tensors are not supported/,
    );
  });

  test.each(cases)("tensorflow shares no data id but for Identity: %s", (_, kernel, of) => {
    const { outputs, error } = fakeMode(() => runCase(kernel, of), { backend: "tensorflow" });
    if (kernel === "LogicalXor") expect((error as RematError).code).toBe("KERNEL_MISSING");
    else
      expect(outputs?.map(({ on }) => on)).toEqual(
        kernel === "Unpack" ? [undefined, undefined] : [kernel === "Identity" ? "x" : undefined],
      );
  });
});

const known = (name: BackendName): string[] => [...kernelsOf(fakeableBackend(name).kernels)];

test("the kernels are those that wasm, with those of gradients, and tensorflow register", () => {
  provideGradientKernels();
  expect(known("wasm").sort()).toEqual(
    tf
      .getKernelsForBackend("wasm")
      .map((config) => config.kernelName)
      .sort(),
  );
  expect(known("tensorflow").sort()).toEqual(tensorflowKernels);
});

test("a kernel that the backend lacks says so, and where it exists", () => {
  const product = () => tf.einsum("ij,jk->ik", fakeTensor([2, 3]), fakeTensor([3, 4])).shape;
  let error: unknown;
  try {
    fakeMode(product, { backend: "wasm" });
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(RematError);
  expect(error).toMatchObject({
    code: "KERNEL_MISSING",
    message: expect.stringContaining("Einsum is not supported by the wasm backend"),
  });
  expect(error).toMatchObject({ message: expect.stringContaining("cpu and tensorflow") });
  expect(fakeMode(product, { backend: "tensorflow" })).toEqual([2, 4]);
});

test("says which backend it stands for", () => {
  const inside = (["cpu", "wasm", "tensorflow"] as const).map((backend) =>
    fakeMode(() => [currentFakeBackend(), tf.getBackend()], { backend }),
  );
  expect(inside).toEqual([
    ["cpu", "fake-cpu"],
    ["wasm", "fake-wasm"],
    ["tensorflow", "fake-tensorflow"],
  ]);
  expect(currentFakeBackend()).toBeUndefined();
});

test.each(["webgl", "webgpu", "made-up"])("%s, whose kernels are not known, is refused", (backend) => {
  expect(() => fakeMode(() => 1, { backend: backend as never })).toThrow(
    expect.objectContaining({
      code: "BACKEND_UNSUPPORTED",
      message: expect.stringMatching(
        `Fake mode does not support backend '${backend}': .+ Choose cpu, tensorflow \\(native\\) or wasm`,
      ),
    }),
  );
});
