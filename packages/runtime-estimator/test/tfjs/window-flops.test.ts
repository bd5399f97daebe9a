import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { flopsOf } from "../../src/index.js";
import { type RecordedCall, recordKernels, useCpu } from "../record-kernels.js";
import { indices, size } from "./naive-convolution.js";

beforeAll(useCpu);

const numbered = (shape: readonly number[]) =>
  tf.tensor(
    Float32Array.from({ length: size(shape) }, (_, i) => (i * 5) % 7),
    [...shape],
  );
const find = (calls: readonly RecordedCall[], name: string) => calls.find((call) => call.name === name) as RecordedCall;

/** One operation for every element of every window, counted by visiting them. */
function countWindows(outputs: readonly number[], window: readonly number[]): number {
  let operations = 0;
  for (const _ of indices(outputs)) for (const __ of indices(window)) operations++;
  return operations;
}

const length = fc.integer({ min: 3, max: 6 });
const tap = fc.integer({ min: 1, max: 3 });
const stride = fc.integer({ min: 1, max: 2 });
const pad = fc.constantFrom<"same" | "valid">("same", "valid");

describe("pooling and its gradients visit every element of every window", () => {
  const pools = { Max: tf.maxPool, Avg: tf.avgPool } as const;
  test.each(Object.keys(pools) as (keyof typeof pools)[])("%sPool", (kind) => {
    fc.assert(
      fc.property(
        fc.tuple(length, length),
        fc.tuple(tap, tap),
        fc.tuple(stride, stride),
        pad,
        (space, taps, strides, padding) => {
          const run = (x: tf.Tensor) => pools[kind](x as tf.Tensor4D, taps, strides, padding);
          const calls = recordKernels(() => void tf.grad(run)(numbered([2, ...space, 2])));
          const forward = find(calls, `${kind}Pool`);
          const { shape } = forward.outputs[0];
          expect(flopsOf(forward, "tfjs")).toBe(countWindows(shape, taps));
          expect(flopsOf(find(calls, `${kind}PoolGrad`), "tfjs")).toBe(countWindows(shape, taps));
        },
      ),
      { numRuns: 40 },
    );
  });

  const pools3d = { Max: tf.maxPool3d, Avg: tf.avgPool3d } as const;
  test.each(Object.keys(pools3d) as (keyof typeof pools3d)[])("%sPool3D with one size for all axes", (kind) => {
    fc.assert(
      fc.property(length, tap, stride, pad, (side, taps, strides, padding) => {
        const run = (x: tf.Tensor) => pools3d[kind](x as tf.Tensor5D, taps, strides, padding);
        const calls = recordKernels(() => void tf.grad(run)(numbered([1, side, side, side, 2])));
        const forward = find(calls, `${kind}Pool3D`);
        const count = countWindows(forward.outputs[0].shape, [taps, taps, taps]);
        expect(flopsOf(forward, "tfjs")).toBe(count);
        expect(flopsOf(find(calls, `${kind}Pool3DGrad`), "tfjs")).toBe(count);
      }),
      { numRuns: 10 },
    );
  });
});

test("Dilation2D and its gradients add and compare at every element of the window", () => {
  fc.assert(
    fc.property(
      fc.tuple(length, length),
      fc.tuple(tap, tap),
      fc.tuple(stride, stride),
      pad,
      (space, taps, strides, padding) => {
        const filter = numbered([...taps, 2]);
        const run = (x: tf.Tensor, f: tf.Tensor) => tf.dilation2d(x as tf.Tensor4D, f as tf.Tensor3D, strides, padding);
        const calls = recordKernels(() => void tf.grads(run)([numbered([1, ...space, 2]), filter]));
        const count = 2 * countWindows(find(calls, "Dilation2D").outputs[0].shape, taps);
        for (const kernel of ["Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"])
          expect(flopsOf(find(calls, kernel), "tfjs"), kernel).toBe(count);
      },
    ),
    { numRuns: 20 },
  );
});

test("the gradient of a resize costs by the elements of its dy, whatever the order of its inputs", () => {
  const calls = recordKernels(() => {
    tf.grad((x) => tf.image.resizeBilinear(x as tf.Tensor4D, [5, 5]))(numbered([1, 3, 3, 2]));
    tf.grad((x) => tf.image.resizeNearestNeighbor(x as tf.Tensor4D, [5, 5]))(numbered([1, 3, 3, 2]));
  });
  const dy = 5 * 5 * 2;
  expect(flopsOf(find(calls, "ResizeBilinear"), "tfjs")).toBe(9 * dy);
  expect(flopsOf(find(calls, "ResizeBilinearGrad"), "tfjs")).toBe(9 * dy);
  expect(flopsOf(find(calls, "ResizeNearestNeighborGrad"), "tfjs")).toBe(dy);
});
