import * as tf from "@tensorflow/tfjs-core";
import type { CalibrationCase } from "./calibration-case.js";

type Sizes = readonly number[];

/** Rows, inner size and columns: dense layers, recurrent cells, attention, square and skinny products. */
const products: readonly Sizes[] = [
  [1, 8, 8],
  [4, 16, 16],
  [8, 64, 64],
  [8, 64, 192],
  [32, 64, 64],
  [1, 512, 512],
  [256, 96, 96],
  [64, 256, 256],
  [8, 512, 1024],
  [256, 128, 512],
  [4096, 16, 16],
  [256, 256, 256],
  [256, 64, 4096],
  [2048, 256, 256],
  [512, 512, 512],
  [12_544, 32, 64],
];

/** Batch, rows, inner size and columns. */
const batchedProducts: readonly Sizes[] = [
  [8, 4, 16, 16],
  [16, 32, 32, 32],
  [32, 64, 16, 64],
  [16, 64, 32, 64],
  [16, 128, 32, 128],
  [64, 64, 64, 64],
];

/** Batch, pixels of a side, channels in, channels out, pixels of a side of the filter, stride. */
const convolutions: readonly Sizes[] = [
  [1, 8, 8, 8, 3, 1],
  [1, 8, 16, 16, 1, 1],
  [2, 56, 3, 16, 3, 2],
  [2, 28, 16, 32, 3, 1],
  [2, 28, 32, 32, 1, 1],
  [2, 56, 16, 32, 1, 1],
  [2, 14, 64, 128, 3, 2],
  [2, 28, 128, 64, 1, 1],
  [1, 7, 512, 512, 1, 1],
  [2, 28, 64, 128, 1, 2],
  [2, 14, 128, 256, 1, 1],
  [4, 64, 16, 16, 3, 1],
  [2, 112, 32, 64, 1, 1],
  [1, 112, 3, 32, 7, 2],
  [2, 7, 256, 256, 3, 1],
  [2, 28, 64, 64, 3, 1],
  [4, 14, 512, 512, 1, 1],
  [1, 56, 64, 64, 3, 1],
];

/** Batch, pixels of a side, channels, pixels of a side of the filter, stride. */
const depthwise: readonly Sizes[] = [
  [1, 8, 8, 3, 1],
  [2, 7, 512, 3, 1],
  [2, 14, 256, 3, 2],
  [2, 14, 256, 3, 1],
  [2, 28, 128, 3, 1],
  [2, 28, 96, 5, 1],
  [2, 56, 64, 3, 2],
  [2, 112, 32, 3, 1],
  [2, 56, 144, 3, 1],
];

/** Batch, pixels of a side, channels. */
const images: readonly Sizes[] = [
  [1, 8, 8],
  [2, 28, 16],
  [4, 14, 256],
  [2, 56, 64],
  [2, 112, 48],
];

/** Matrix products, convolutions, pooling, batch normalization and resizing, with their gradients. */
export function productCases(): readonly CalibrationCase[] {
  return [
    ...products.flatMap(productCase),
    ...batchedProducts.flatMap(batchedCase),
    ...convolutions.flatMap(convolutionCases),
    ...depthwise.map(depthwiseCase),
    ...images.flatMap(imageCases),
  ];
}

/** A product with the transposes of its two gradients. */
function productCase([m, k, n]: Sizes): readonly CalibrationCase[] {
  const size = `[${m}, ${k}] × [${k}, ${n}]`;
  return [
    { kind: "matMul", name: `matMul ${size}`, run: (input) => tf.matMul(input(m, k), input(k, n)) },
    { kind: "matMul nt", name: `matMul ${size}`, run: (input) => tf.matMul(input(m, k), input(n, k), false, true) },
    { kind: "matMul tn", name: `matMul ${size}`, run: (input) => tf.matMul(input(k, m), input(k, n), true, false) },
    {
      kind: "fused matMul",
      name: `fused matMul ${size}`,
      run: (input) => tf.fused.matMul({ a: input(m, k), b: input(k, n), bias: input(n), activation: "relu" }),
    },
  ];
}

function batchedCase([batch, m, k, n]: Sizes): readonly CalibrationCase[] {
  const size = `${batch} × [${m}, ${k}] × [${k}, ${n}]`;
  return [
    { kind: "batched", name: size, run: (input) => tf.matMul(input(batch, m, k), input(batch, k, n)) },
    { kind: "batched nt", name: size, run: (input) => tf.matMul(input(batch, m, k), input(batch, n, k), false, true) },
    { kind: "batched tn", name: size, run: (input) => tf.matMul(input(batch, k, m), input(batch, k, n), true, false) },
  ];
}

function convolutionCases([batch, side, channels, filters, filterSide, stride]: Sizes): readonly CalibrationCase[] {
  const size = `${batch} × ${side}² × ${channels} to ${filters}, ${filterSide}², stride ${stride}`;
  return [
    {
      kind: `conv2d ${filterSide === 1 ? "1x1" : "larger"}`,
      name: `conv2d ${size}`,
      run: (input) =>
        tf.grads((x, filter) => tf.conv2d(x as tf.Tensor4D, filter as tf.Tensor4D, stride, "same"))([
          input(batch, side, side, channels),
          input(filterSide, filterSide, channels, filters),
        ]),
    },
    {
      kind: "fused conv2d",
      name: `fused conv2d ${size}`,
      run: (input) =>
        tf.fused.conv2d({
          x: input<tf.Rank.R4>(batch, side, side, channels),
          filter: input<tf.Rank.R4>(filterSide, filterSide, channels, filters),
          strides: stride,
          pad: "same",
          bias: input(filters),
          activation: "relu",
        }),
    },
  ];
}

function depthwiseCase([batch, side, channels, filterSide, stride]: Sizes): CalibrationCase {
  return {
    kind: "depthwiseConv2d",
    name: `depthwiseConv2d ${batch} × ${side}² × ${channels}, ${filterSide}², stride ${stride}`,
    run: (input) =>
      tf.grads((x, filter) => tf.depthwiseConv2d(x as tf.Tensor4D, filter as tf.Tensor4D, stride, "same"))([
        input(batch, side, side, channels),
        input(filterSide, filterSide, channels, 1),
      ]),
  };
}

function imageCases([batch, side, channels]: Sizes): readonly CalibrationCase[] {
  const size = `${batch} × ${side}² × ${channels}`;
  const gradient = (kind: string, op: (x: tf.Tensor4D) => tf.Tensor): CalibrationCase => ({
    kind,
    name: `${kind} ${size}`,
    run: (input) => tf.grad(op as (x: tf.Tensor) => tf.Tensor)(input(batch, side, side, channels)),
  });
  const forward = (kind: string, op: (x: tf.Tensor4D, perChannel: () => tf.Tensor1D) => unknown): CalibrationCase => ({
    kind,
    name: `${kind} ${size}`,
    run: (input) => op(input<tf.Rank.R4>(batch, side, side, channels), () => input<tf.Rank.R1>(channels)),
  });
  const windows: readonly (readonly [number, number])[] = [
    [2, 2],
    [3, 2],
    [3, 1],
  ];
  return [
    ...windows.flatMap(([window, stride]) => [
      gradient(`maxPool ${window}/${stride}`, (x) => tf.maxPool(x, window, stride, "same")),
      gradient(`avgPool ${window}/${stride}`, (x) => tf.avgPool(x, window, stride, "same")),
    ]),
    gradient("resizeNearestNeighbor", (x) => tf.image.resizeNearestNeighbor(x, [2 * side, 2 * side])),
    gradient("resizeBilinear", (x) => tf.image.resizeBilinear(x, [2 * side, 2 * side])),
    forward("batchNorm", (x, perChannel) => tf.batchNorm(x, perChannel(), perChannel(), perChannel(), perChannel())),
    forward("add per channel", (x, perChannel) => tf.add(x, perChannel())),
    forward("mul per channel", (x, perChannel) => tf.mul(x, perChannel())),
    forward("sub per channel", (x, perChannel) => tf.sub(x, perChannel())),
    ...["sum", "mean"].flatMap((kind) => {
      const reduce = kind === "sum" ? tf.sum : tf.mean;
      return [
        forward(`${kind} by channel`, (x) => reduce(x, [0, 1, 2])),
        forward(`${kind} by image`, (x) => reduce(x, [1, 2])),
      ];
    }),
    forward("concat channels", (x) => tf.concat([x, x], 3)),
    forward("pad image", (x) =>
      tf.pad(x, [
        [0, 0],
        [1, 1],
        [1, 1],
        [0, 0],
      ]),
    ),
  ];
}
