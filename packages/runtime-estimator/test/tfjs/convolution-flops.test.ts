import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { flopsOf } from "../../src/index.js";
import { type RecordedCall, recordKernels, useCpu } from "../record-kernels.js";
import {
  type ConvolutionShape,
  type Counted,
  convolve,
  convolveGradFilter,
  convolveGradInput,
  size,
} from "./naive-convolution.js";

beforeAll(useCpu);

type Padding = "same" | "valid" | number | readonly (readonly [number, number])[];

interface Case {
  readonly batch: number;
  readonly space: readonly number[];
  readonly channels: number;
  readonly taps: readonly number[];
  /** Output channels, or the multiplier of a depthwise convolution. */
  readonly outs: number;
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padding: Padding;
}

/** tfjs refuses strides together with dilations. */
function cases(rank: number, paddings: readonly ("same" | "valid" | "number" | "explicit")[]): fc.Arbitrary<Case> {
  const perAxis = (min: number, max: number) =>
    fc.array(fc.integer({ min, max }), { minLength: rank, maxLength: rank });
  const ones = Array.from({ length: rank }, () => 1);
  const padding: fc.Arbitrary<Padding> = fc.constantFrom(...paddings).chain((kind): fc.Arbitrary<Padding> => {
    if (kind === "number") return fc.integer({ min: 0, max: 2 });
    if (kind !== "explicit") return fc.constant(kind);
    const pair = fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 2 }));
    return fc.array(pair, { minLength: rank, maxLength: rank });
  });
  const small = rank === 3 ? 4 : 6;
  return fc
    .record({
      batch: fc.integer({ min: 1, max: 2 }),
      space: perAxis(small, small + 2),
      channels: fc.integer({ min: 1, max: 3 }),
      taps: perAxis(1, 3),
      outs: fc.integer({ min: 1, max: 3 }),
      padding,
      scale: fc.record({ factors: perAxis(1, 2), dilated: fc.boolean() }),
    })
    .map(({ scale, ...rest }) => ({
      ...rest,
      strides: scale.dilated ? ones : scale.factors,
      dilations: scale.dilated ? scale.factors : ones,
    }));
}

/** Zeros before each spatial axis, by the definition of the paddings. */
function padBefore(c: Case, outSpace: readonly number[]): number[] {
  const { padding } = c;
  if (padding === "valid") return c.space.map(() => 0);
  if (typeof padding === "number") return c.space.map(() => padding);
  if (typeof padding === "object") return padding.map(([before]) => before);
  return c.space.map((length, i) => {
    const span = (c.taps[i] - 1) * c.dilations[i] + 1;
    const missing = (outSpace[i] - 1) * c.strides[i] + span - length;
    // In three dimensions tfjs lets the padding become negative, that is, skips elements.
    return Math.floor((c.space.length === 3 ? missing : Math.max(0, missing)) / 2);
  });
}

function shapeOf(c: Case, outSpace: readonly number[], depthwise: boolean): ConvolutionShape {
  return {
    input: [c.batch, ...c.space, c.channels],
    filter: [...c.taps, c.channels, c.outs],
    output: [c.batch, ...outSpace, depthwise ? c.channels * c.outs : c.outs],
    strides: c.strides,
    dilations: c.dilations,
    padBefore: padBefore(c, outSpace),
    depthwise,
  };
}

const explicit = (padding: Padding) =>
  typeof padding === "object" ? ([[0, 0], ...padding, [0, 0]] as tf.backend_util.ExplicitPadding) : padding;

/** Small whole numbers, so that sums are exact in float32 whatever their order. */
const numbered = (shape: readonly number[]) =>
  tf.tensor(
    Float32Array.from({ length: size(shape) }, (_, i) => ((i * 7) % 11) - 5),
    [...shape],
  );

const find = (calls: readonly RecordedCall[], name: string) => calls.find((call) => call.name === name) as RecordedCall;

function expectSame(
  call: RecordedCall,
  naive: Counted,
  values: readonly number[] | Float32Array = call.values.outputs[0],
): void {
  expect(Array.from(values, (v) => v + 0)).toEqual(Array.from(naive.values, (v) => v + 0));
  expect(flopsOf(call, "tfjs")).toBe(naive.flops);
}

/** Records a convolution with its gradients and compares FLOPs and values of the three kernels with the loops'. */
function checkAll(
  c: Case,
  depthwise: boolean,
  kernels: readonly [string, string, string],
  run: (x: tf.Tensor, filter: tf.Tensor) => tf.Tensor,
  { backward = true } = {},
): void {
  const x = numbered([c.batch, ...c.space, c.channels]);
  const filter = numbered([...c.taps, c.channels, c.outs]);
  const calls = recordKernels(() => {
    if (backward) tf.grads((a, b) => run(a, b))([x, filter], numbered(run(x, filter).shape));
    else run(x, filter);
  });
  const forward = find(calls, kernels[0]);
  const shape = shapeOf(c, forward.outputs[0].shape.slice(1, -1), depthwise);
  const [xs, fs] = forward.values.inputs;
  expectSame(forward, convolve(shape, xs, fs));
  if (backward) {
    const toInput = find(calls, kernels[1]);
    const toFilter = find(calls, kernels[2]);
    const dy = toInput.values.inputs[0];
    expectSame(toInput, convolveGradInput(shape, dy, fs));
    expectSame(toFilter, convolveGradFilter(shape, xs, dy));
  }
  tf.dispose([x, filter]);
}

const undilated = (c: Case) => c.dilations.every((dilation) => dilation === 1);
const runs = { numRuns: 40 };

test("Conv2D and its gradients: strides, dilations and every padding", () => {
  fc.assert(
    fc.property(cases(2, ["same", "valid", "number", "explicit"]), (c) => {
      checkAll(
        c,
        false,
        ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"],
        (x, filter) =>
          tf.conv2d(
            x as tf.Tensor4D,
            filter as tf.Tensor4D,
            c.strides as [number, number],
            explicit(c.padding) as "same",
            "NHWC",
            c.dilations as [number, number],
          ),
        { backward: undilated(c) && typeof c.padding !== "number" },
      );
    }),
    runs,
  );
});

test("Conv2D of channels first", () => {
  fc.assert(
    fc.property(cases(2, ["same", "valid"]), (c) => {
      const x = numbered([c.batch, c.channels, ...c.space]) as tf.Tensor4D;
      const filter = numbered([...c.taps, c.channels, c.outs]) as tf.Tensor4D;
      const [first, last] = [x, tf.transpose(x, [0, 2, 3, 1])].map((input, i) =>
        find(
          recordKernels(() => {
            tf.conv2d(
              input as tf.Tensor4D,
              filter,
              c.strides as [number, number],
              c.padding as "same",
              i === 0 ? "NCHW" : "NHWC",
              c.dilations as [number, number],
            );
          }),
          "Conv2D",
        ),
      );
      expect(flopsOf(first, "tfjs")).toBe(flopsOf(last, "tfjs"));
    }),
    runs,
  );
});

test("depthwise convolution and its gradients: multipliers, strides, dilations, paddings", () => {
  fc.assert(
    fc.property(cases(2, ["same", "valid", "explicit"]), (c) => {
      checkAll(
        c,
        true,
        ["DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"],
        (x, filter) =>
          tf.depthwiseConv2d(
            x as tf.Tensor4D,
            filter as tf.Tensor4D,
            c.strides as [number, number],
            explicit(c.padding) as "same",
            "NHWC",
            c.dilations as [number, number],
          ),
        { backward: undilated(c) },
      );
    }),
    runs,
  );
});

test("Conv3D and its gradients", () => {
  fc.assert(
    fc.property(cases(3, ["same", "valid"]), (c) => {
      checkAll(
        c,
        false,
        ["Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"],
        (x, filter) =>
          tf.conv3d(
            x as tf.Tensor5D,
            filter as tf.Tensor5D,
            c.strides as [number, number, number],
            c.padding as "same",
            "NDHWC",
            c.dilations as [number, number, number],
          ),
        { backward: undilated(c) },
      );
    }),
    { numRuns: 15 },
  );
});

test("a convolution costs what PyTorch's formulas say, forward and backward", () => {
  fc.assert(
    fc.property(cases(2, ["same", "valid"]).filter(undilated), (c) => {
      const x = numbered([c.batch, ...c.space, c.channels]) as tf.Tensor4D;
      const filter = numbered([...c.taps, c.channels, c.outs]) as tf.Tensor4D;
      const run = (a: tf.Tensor4D, b: tf.Tensor4D) =>
        tf.conv2d(a, b, c.strides as [number, number], c.padding as "same");
      const calls = recordKernels(() => void tf.grads((a, b) => run(a as tf.Tensor4D, b as tf.Tensor4D))([x, filter]));
      const forward = find(calls, "Conv2D");
      const outSpace = forward.outputs[0].shape.slice(1, -1);
      const float = (shape: readonly number[]) => ({ dtype: "float32", shape });
      const [input, weight, output] = [
        float([c.batch, c.channels, ...c.space]),
        float([c.outs, c.channels, ...c.taps]),
        float([c.batch, c.outs, ...outSpace]),
      ];
      const aten = {
        name: "aten.convolution.default",
        inputs: [input, weight],
        outputs: [output],
        attributes: { args: ["%0", "%1", null, c.strides, [0, 0], c.dilations, false, [0, 0], 1] },
      };
      const backward = {
        name: "aten.convolution_backward.default",
        inputs: [output, input, weight],
        outputs: [input, weight],
        attributes: {
          args: ["%0", "%1", "%2", [0], c.strides, [0, 0], c.dilations, false, [0, 0], 1, [true, true, false]],
        },
      };
      expect(flopsOf(forward, "tfjs")).toBe(flopsOf(aten, "pytorch"));
      const ours =
        flopsOf(find(calls, "Conv2DBackpropInput"), "tfjs") + flopsOf(find(calls, "Conv2DBackpropFilter"), "tfjs");
      expect(ours).toBe(flopsOf(backward, "pytorch"));
    }),
    runs,
  );
});
