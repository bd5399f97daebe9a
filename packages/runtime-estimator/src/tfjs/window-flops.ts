import type { OpCall } from "../op-call.js";
import { specialFunction } from "./elementwise-flops.js";
import { inputElements, type KernelFormula, outputElements, perOutput, product } from "./kernel-formula.js";

/**
 * One addition or comparison for each element of each output's window. An average has one addition less and one
 * division more.
 */
const pool =
  (rank: number): KernelFormula =>
  (call) =>
    outputElements(call) * product(call.attributes?.["filterSize"], rank);

/** Each output gradient is added to, or compared with, every position of its window. */
const poolGrad =
  (rank: number): KernelFormula =>
  (call) =>
    inputElements(call, 0) * product(call.attributes?.["filterSize"], rank);

/** An addition and a comparison for each element of the structuring element [height, width, depth], per output. */
const dilation =
  (count: KernelFormula): KernelFormula =>
  (call) => {
    const [height = 0, width = 0] = call.inputs[1]?.shape ?? [];
    return 2 * count(call) * height * width;
  };

/** Squares and their sum over 2 · radius + 1 channels, then bias, scale, a power and the product. */
const lrn =
  (flopsPerTap: number): KernelFormula =>
  (call) => {
    const taps = 2 * Number(call.attributes?.["depthRadius"] ?? 5) + 1;
    return outputElements(call) * (flopsPerTap * taps + 2 * specialFunction + 3);
  };

/** Elements of `dy` in a resize gradient. `dy` may be either input, and the other input is as large as the output. */
function resizedGradient(call: OpCall): number {
  return Math.max(0, inputElements(call, 0) + inputElements(call, 1) - outputElements(call));
}

/** Three linear interpolations of a difference, a product and a sum. */
const bilinear = 9;
/** Two products and two sums for each coordinate, and the quotient of a projective map. */
const projection = 8 + 2 * specialFunction;

/** Pooling, neighbourhoods and image sampling. */
export const windowFlops: Readonly<Record<string, KernelFormula>> = {
  AvgPool: pool(2),
  AvgPool3D: pool(3),
  MaxPool: pool(2),
  MaxPool3D: pool(3),
  MaxPoolWithArgmax: pool(2),
  Pool: pool(2),
  AvgPoolGrad: poolGrad(2),
  AvgPool3DGrad: poolGrad(3),
  MaxPoolGrad: poolGrad(2),
  MaxPool3DGrad: poolGrad(3),
  Dilation2D: dilation((call) => outputElements(call)),
  Dilation2DBackpropInput: dilation((call) => inputElements(call, 2)),
  Dilation2DBackpropFilter: dilation((call) => inputElements(call, 2)),
  LRN: lrn(2),
  LRNGrad: lrn(6),
  CropAndResize: perOutput(bilinear),
  ResizeBilinear: perOutput(bilinear),
  ResizeBilinearGrad: (call) => bilinear * resizedGradient(call),
  ResizeNearestNeighborGrad: resizedGradient,
  RotateWithOffset: perOutput(bilinear + 8),
  Transform: perOutput(bilinear + projection),
};
