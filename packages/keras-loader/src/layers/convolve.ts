import {
  batchToSpaceND,
  conv1d,
  conv2d,
  conv3d,
  depthwiseConv2d,
  pad,
  spaceToBatchND,
  type Tensor,
} from "@tensorflow/tfjs-core";

/** How the window of a convolution moves over its input, with one number for each spatial axis. */
export interface Window {
  readonly strides: readonly number[];
  readonly padding: "same" | "valid" | "causal";
  readonly dilationRate: readonly number[];
}

/** Convolves `[batch, …space, channels]` over one to three spatial axes, with a gradient also for dilated windows. */
export function convolve(x: Tensor, kernel: Tensor, window: Window): Tensor {
  const sizes = kernel.shape.slice(0, -2);
  return inBlocks(x, sizes, window, (part, padding) => {
    const strides = window.strides as never;
    if (sizes.length === 1) return conv1d(part as never, kernel as never, window.strides[0] as number, padding);
    if (sizes.length === 2) return conv2d(part as never, kernel as never, strides, padding);
    return conv3d(part as never, kernel as never, strides, padding);
  });
}

/**
 * Convolves each channel of `[batch, height, width, channels]` separately, with a gradient also for dilated windows.
 */
export function convolveDepthwise(x: Tensor, kernel: Tensor, window: Window): Tensor {
  return inBlocks(x, kernel.shape.slice(0, 2), window, (part, padding) =>
    depthwiseConv2d(part as never, kernel as never, window.strides as never, padding),
  );
}

/**
 * Runs a dilated convolution as a plain one over blocks of every d-th place. TensorFlow.js has no gradient for dilated
 * convolutions, but has them for splitting and joining blocks. This takes two copies: of the padded input and of the
 * output.
 */
function inBlocks(
  x: Tensor,
  sizes: readonly number[],
  { padding, dilationRate }: Window,
  run: (part: Tensor, padding: "same" | "valid") => Tensor,
): Tensor {
  const reach = sizes.map((size, i) => (size - 1) * (dilationRate[i] as number));
  if (dilationRate.every((rate) => rate === 1)) {
    if (padding !== "causal") return run(x, padding);
    return run(pad(x, [[0, 0], ...reach.map((each): [number, number] => [each, 0]), [0, 0]]), "valid");
  }
  const paddings: number[][] = [];
  const crops: number[][] = [];
  reach.forEach((each, i) => {
    const block = dilationRate[i] as number;
    const total = padding === "valid" ? 0 : each;
    const before = padding === "causal" ? each : Math.floor(total / 2);
    const padded = (x.shape[i + 1] as number) + total;
    const extra = (block - (padded % block)) % block;
    paddings.push([before, total - before + extra]);
    crops.push([0, extra]);
  });
  const blocks = spaceToBatchND(x, [...dilationRate], paddings);
  return batchToSpaceND(run(blocks, "valid"), [...dilationRate], crops);
}

/** Returns the length of an axis after a convolution, or null if it is unknown. */
export function convolvedSize(
  size: number | null,
  kernel: number,
  padding: Window["padding"],
  stride: number,
  dilation: number,
): number | null {
  if (size === null) return null;
  return padding === "valid" ? Math.ceil((size - (kernel - 1) * dilation) / stride) : Math.ceil(size / stride);
}
