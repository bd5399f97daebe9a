import * as tf from "@tensorflow/tfjs-core";
import type { CalibrationCase } from "./calibration-case.js";

type Matrix = (x: tf.Tensor2D, count: number, width: number) => unknown;

/** Ops on a matrix by axis: axis 1 is contiguous in memory. */
const ofMatrix: Readonly<Record<string, Matrix>> = {
  ...{ "sum 0": (x) => tf.sum(x, 0), "sum 1": (x) => tf.sum(x, 1), sum: (x) => tf.sum(x) },
  ...{ "mean 0": (x) => tf.mean(x, 0), "mean 1": (x) => tf.mean(x, 1), mean: (x) => tf.mean(x) },
  ...{ "max 0": (x) => tf.max(x, 0), "max 1": (x) => tf.max(x, 1), max: (x) => tf.max(x) },
  ...{ softmax: (x) => tf.softmax(x), logSoftmax: (x) => tf.logSoftmax(x), argMax: (x) => tf.argMax(x, 1) },
  cumsum: (x) => tf.cumsum(x, 1),
  transpose: (x) => tf.transpose(x),
  "concat 0": (x) => tf.concat([x, x], 0),
  "concat 1": (x) => tf.concat([x, x], 1),
  stack: (x) => tf.stack([x, x]),
  "slice 0": (x, count, width) => tf.slice(x, [0, 0], [count / 2, width]),
  "slice 1": (x, count, width) => tf.slice(x, [0, 0], [count, width / 2]),
  "split 0": (x) => tf.split(x, 4, 0),
  "split 1": (x) => tf.split(x, 4, 1),
  "tile row": (x, count, width) => tf.tile(tf.slice(x, [0, 0], [1, width]), [count, 1]),
  "tile column": (x, count, width) => tf.tile(tf.slice(x, [0, 0], [count, 1]), [1, width]),
  "pad 0": (x) => tf.pad(x, [pad, none]),
  "pad 1": (x) => tf.pad(x, [none, pad]),
  reverse: (x) => tf.reverse(x, 0),
  stridedSlice: (x, count, width) => tf.stridedSlice(x, [0, 0], [count, width], [1, 2]),
  unstack: (x, _, width) => tf.unstack(tf.slice(x, [0, 0], [4, width])),
};
const pad: [number, number] = [1, 1];
const none: [number, number] = [0, 0];

const matrices: readonly (readonly [number, number])[] = [
  [4, 8],
  [64, 32],
  [512, 64],
  [128, 512],
  [4096, 128],
  [12_544, 64],
  [4096, 512],
];

/** Reductions by axis, and ops that copy, gather or rearrange. */
export function movementCases(): readonly CalibrationCase[] {
  return [
    ...matrices.flatMap(([count, width]) =>
      Object.entries(ofMatrix).map(([kind, op]) => ({
        kind,
        name: `${kind} of [${count}, ${width}]`,
        run: (input: Parameters<CalibrationCase["run"]>[0]) => op(input<tf.Rank.R2>(count, width), count, width),
      })),
    ),
    ...matrices.flatMap(([count, width]) => gathers(count, width)),
    ...heads.flatMap(headCases),
  ];
}

/** Rows of a table by index, as an embedding has them, with their gradient. */
function gathers(count: number, width: number): readonly CalibrationCase[] {
  const indices = Math.min(count, 1024);
  const chosen = (input: Parameters<CalibrationCase["run"]>[0], limit: number) =>
    tf.cast(tf.mul(input<tf.Rank.R1>(indices), limit - 1), "int32") as tf.Tensor1D;
  const size = `of [${count}, ${width}]`;
  return [
    {
      kind: "gather",
      name: `gather ${size}`,
      run: (input) => tf.gather(input(count, width), chosen(input, count)),
    },
    {
      kind: "unsortedSegmentSum",
      name: `unsortedSegmentSum ${size}`,
      run: (input) => tf.unsortedSegmentSum(input(indices, width), chosen(input, count), count),
    },
    {
      kind: "oneHot",
      name: `oneHot of ${indices}, ${width}`,
      run: (input) => tf.oneHot(chosen(input, width), width),
    },
  ];
}

/** Batch, positions, heads and width of a head. */
const heads: readonly (readonly [number, number, number, number])[] = [
  [2, 8, 4, 8],
  [4, 32, 4, 32],
  [8, 64, 8, 32],
  [8, 128, 8, 64],
];

/** Transposes of attention, and of convolution layouts. */
function headCases(shape: readonly [number, number, number, number]): readonly CalibrationCase[] {
  const orders = [
    [0, 2, 1, 3],
    [0, 2, 3, 1],
    [3, 0, 1, 2],
  ];
  return orders.map((order) => ({
    kind: `transpose ${order.join()}`,
    name: `transpose ${order.join()} of [${shape.join(", ")}]`,
    run: (input) => tf.transpose(input<tf.Rank.R4>(...shape), order),
  }));
}
