import { checkedShare } from "@remat/testkit/checked-share";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isRepeatable } from "../../../src/backends/repeatable-kernels.js";
import {
  provideGradientKernels,
  wasmGradientKernels,
} from "../../../src/backends/wasm/gradients/provide-gradient-kernels.js";

beforeAll(async () => {
  await tf.setBackend("wasm");
  provideGradientKernels();
});
afterAll(() => {
  for (const kernel of Object.keys(wasmGradientKernels)) tf.unregisterKernel(kernel, "wasm");
});

test("are given to a backend that lacks them, or has them wrong, and count as its own", () => {
  for (const kernel of Object.keys(wasmGradientKernels))
    expect([kernel, isRepeatable(kernel, "wasm")]).toEqual([kernel, true]);
  const volumes = tf.getKernel("Conv3DBackpropInputV2", "wasm").kernelFunc;
  expect(volumes).toBe(wasmGradientKernels.Conv3DBackpropInputV2);
});

/** Small whole numbers: their sums are exact in float32, whatever the order. */
function whole(shape: readonly number[], seed: number): tf.Tensor {
  let state = seed >>> 0;
  const values = Array.from({ length: tf.util.sizeFromShape([...shape]) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 24) % 9) - 4;
  });
  return tf.tensor(values, [...shape], "float32");
}

/** The values of what `run` returns on a backend, and how many tensors and buffers it leaves. */
async function on(backend: "cpu" | "wasm", run: () => readonly tf.Tensor[]): Promise<readonly unknown[]> {
  await tf.setBackend(backend);
  const before = tf.backend().numDataIds();
  const values = tf.tidy(() => run().map((tensor) => [tensor.dtype, tensor.shape, [...tensor.dataSync()]]));
  return [values, tf.backend().numDataIds() - before];
}

async function sameOnBoth(run: () => readonly tf.Tensor[]): Promise<void> {
  // -0 and 0 are sums of the same numbers.
  const plain = (result: readonly unknown[]) => JSON.parse(JSON.stringify(result)) as unknown;
  expect(plain(await on("wasm", run))).toEqual(plain(await on("cpu", run)));
}

const sizes = fc.integer({ min: 1, max: 5 });
const strides = fc.integer({ min: 1, max: 3 });
const pads = fc.oneof(
  fc.constantFrom<"same" | "valid">("same", "valid"),
  fc.array(fc.nat(2), { minLength: 4, maxLength: 4 }),
);

const convolutions = fc.record({
  batch: fc.integer({ min: 1, max: 3 }),
  height: fc.integer({ min: 1, max: 9 }),
  width: fc.integer({ min: 1, max: 9 }),
  filterHeight: fc.integer({ min: 1, max: 4 }),
  filterWidth: fc.integer({ min: 1, max: 4 }),
  inChannels: sizes,
  outChannels: sizes,
  strides: fc.tuple(strides, strides),
  pad: pads,
  seed: fc.nat(),
});

type Shape4 = [number, number, number, number];

const padOf = (pad: "same" | "valid" | readonly number[]): "same" | "valid" | tf.backend_util.ExplicitPadding =>
  typeof pad === "string"
    ? pad
    : [
        [0, 0],
        [pad[0], pad[1]],
        [pad[2], pad[3]],
        [0, 0],
      ];

const runKernel = (kernel: string, inputs: Record<string, tf.Tensor>, attributes: object): tf.Tensor =>
  tf.engine().runKernel(kernel, inputs, attributes as never) as tf.Tensor;

/** The kernels themselves: forward, wasm's own convolution gives zeros where a stride is larger than the filter and pads `same`. */
describe.each([
  ["a convolution", false, ["Conv2DBackpropFilter"]],
  ["a depthwise convolution", true, ["DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput"]],
] as const)("the gradients of %s", (_, isDepthwise, kernels) => {
  test("are, over random shapes, strides and paddings, those of the cpu backend", async () => {
    const given = checkedShare();
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(convolutions, async (of) => {
        const inputShape: Shape4 = [of.batch, of.height, of.width, of.inChannels];
        const filterShape: Shape4 = [of.filterHeight, of.filterWidth, of.inChannels, of.outChannels];
        const attributes = { strides: of.strides, pad: padOf(of.pad), inputShape, filterShape };
        const info = tf.backend_util.computeConv2DInfo(
          inputShape,
          filterShape,
          of.strides,
          1,
          attributes.pad as never,
          undefined,
          isDepthwise,
        );
        if (!given(info.outShape.every((size) => size >= 1))) return;
        compared++;
        await sameOnBoth(() => {
          const inputs = {
            x: whole(inputShape, of.seed),
            filter: whole(filterShape, of.seed + 1),
            dy: whole(info.outShape, of.seed + 2),
          };
          return kernels.map((kernel) =>
            runKernel(kernel, inputs, { ...attributes, dataFormat: "NHWC", dilations: 1 }),
          );
        });
      }),
      { numRuns: 200 },
    );
    expect(compared).toBeGreaterThan(120);
  });
});

const volumes = fc.record({
  shape: fc.tuple(fc.integer({ min: 1, max: 2 }), sizes, sizes, sizes, fc.integer({ min: 1, max: 3 })),
  filter: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
  outChannels: fc.integer({ min: 1, max: 3 }),
  strides: fc.tuple(strides, strides, strides),
  pad: fc.constantFrom<"same" | "valid">("same", "valid"),
  seed: fc.nat(),
});

test("the gradients of a convolution of volumes are those of the cpu backend, over random shapes, strides and paddings", async () => {
  const given = checkedShare();
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(volumes, async (of) => {
      const inputShape = of.shape;
      const filterShape = [...of.filter, inputShape[4], of.outChannels] as typeof inputShape;
      const attributes = { strides: of.strides, pad: of.pad, inputShape, filterShape };
      const { outShape } = tf.backend_util.computeConv3DInfo(inputShape, filterShape, of.strides, 1, of.pad);
      if (!given(outShape.every((size) => size >= 1))) return;
      compared++;
      await sameOnBoth(() => {
        const [x, filter, dy] = [inputShape, filterShape, outShape].map((shape, i) => whole(shape, of.seed + i));
        return [
          runKernel("Conv3DBackpropFilterV2", { x, dy }, attributes),
          runKernel("Conv3DBackpropInputV2", { dy, filter }, attributes),
        ];
      });
    }),
    { numRuns: 150 },
  );
  expect(compared).toBeGreaterThan(70);
});

test("the gradient of a gather is that of the cpu backend, along any axis, with indices that come more than once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sizes, { minLength: 1, maxLength: 3 }),
      fc.nat(2),
      fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }),
      fc.nat(),
      async (shape, axis, picks, seed) => {
        const along = axis % shape.length;
        const indices = picks.map((pick) => pick % shape[along]);
        await sameOnBoth(() => [
          tf.grad((x) => tf.square(tf.gather(x, tf.tensor1d(indices, "int32"), along)))(whole(shape, seed)),
        ]);
      },
    ),
    { numRuns: 60 },
  );
});

test("a depthwise convolution with dilations is linear in its filter and in its input, by the gradients that are given", async () => {
  await tf.setBackend("wasm");
  fc.assert(
    fc.property(convolutions, fc.tuple(strides, strides), (of, dilations) => {
      tf.tidy(() => {
        const inputShape: Shape4 = [of.batch, of.height + 9, of.width + 9, of.inChannels];
        const filterShape: Shape4 = [of.filterHeight, of.filterWidth, of.inChannels, 2];
        const pad = typeof of.pad === "string" ? of.pad : "valid";
        const [x, filter] = [whole(inputShape, of.seed), whole(filterShape, of.seed + 1)];
        const attributes = { strides: 1, pad, dilations };
        const y = runKernel("DepthwiseConv2dNative", { x, filter }, attributes);
        const dy = whole(y.shape, of.seed + 2);
        const dot = (a: tf.Tensor, b: tf.Tensor): number => tf.sum(tf.mul(a, b)).dataSync()[0];
        const byFilter = runKernel("DepthwiseConv2dNativeBackpropFilter", { x, dy }, { ...attributes, filterShape });
        const byInput = runKernel("DepthwiseConv2dNativeBackpropInput", { dy, filter }, { ...attributes, inputShape });
        expect([dot(byFilter, filter), dot(byInput, x)]).toEqual([dot(dy, y), dot(dy, y)]);
      });
    }),
    { numRuns: 60 },
  );
});

test("rows in no segment are left out", async () => {
  await tf.setBackend("wasm");
  const ids = tf.tensor1d([1, -1, 5, 1, 0], "int32");
  const sums = tf.unsortedSegmentSum(tf.tensor2d([1, 2, 3, 4, 5], [5, 1]), ids, 3);
  expect([...sums.dataSync()]).toEqual([5, 5, 0]);
});

test("an existing registration stays", () => {
  const before = Object.keys(wasmGradientKernels).map((kernel) => tf.getKernel(kernel, "wasm"));
  provideGradientKernels();
  expect(Object.keys(wasmGradientKernels).map((kernel) => tf.getKernel(kernel, "wasm"))).toEqual(before);
});

test("a user's registration stays, even in place of a wrong one", () => {
  const kernelName = "Conv3DBackpropInputV2";
  const ours = tf.getKernel(kernelName, "wasm");
  const kernelFunc = (): tf.TensorInfo => ({ dataId: {}, shape: [], dtype: "float32" });
  tf.unregisterKernel(kernelName, "wasm");
  tf.registerKernel({ kernelName, backendName: "wasm", kernelFunc });
  provideGradientKernels();
  expect(tf.getKernel(kernelName, "wasm").kernelFunc).toBe(kernelFunc);
  tf.unregisterKernel(kernelName, "wasm");
  tf.registerKernel(ours);
});
