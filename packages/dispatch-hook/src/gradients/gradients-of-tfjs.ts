import type { GradFunc } from "@tensorflow/tfjs-core";
import { functionDigest } from "./function-of-tfjs.js";

/**
 * For each kernel, the digests of its gradient function in TensorFlow.js 4.17 to 4.22: as `@tensorflow/tfjs` and
 * bundlers load it, and as tfjs-layers alone loads it in Node, compiled to ES5. The registered function is from the
 * copy that was loaded last.
 */
const digests: Readonly<Record<string, readonly string[]>> = {
  Add: ["eb99db0b", "af48d83e"],
  AddN: ["dc68f7b0", "4d540700"],
  BatchMatMul: ["29e4ab8a", "b7a22de7"],
  Concat: ["c916be7a", "70366d7d"],
  Conv2D: ["5f922e5b", "a0cd8f55"],
  Conv2DBackpropInput: ["65fd5529", "d8654eb8"],
  Conv3D: ["277b29d2", "64509ad6"],
  Cumsum: ["359a615b", "9af86d4d"],
  DepthwiseConv2dNative: ["ae032b79", "648228f5"],
  ExpandDims: ["26eb545d", "b9516dd9"],
  FloorDiv: ["4a0ea9c7", "6c14b6ae"],
  FusedBatchNorm: ["28b782dd", "b689790d"],
  GreaterEqual: ["12859949", "a41fd192"],
  Mean: ["67f210c2", "dbe01c46"],
  MirrorPad: ["368584f7", "9d2a1e3b"],
  Mod: ["a6a6efd7", "ed7de7a8"],
  Multiply: ["762359d0", "89b40f6b"],
  OneHot: ["c5ae8bd7", "f00c8c5e"],
  Pack: ["f6f42ef1", "d7f05574"],
  PadV2: ["368584f7", "9d2a1e3b"],
  Pow: ["0b529664", "c11f4aab"],
  Prelu: ["a63ce475", "d5204fdd"],
  RealDiv: ["4a0ea9c7", "6c14b6ae"],
  Reshape: ["3d954d31", "5cf734c9"],
  Slice: ["dc3949e8", "2e31ee0a"],
  Sub: ["511bd588", "f8128bfb"],
  Sum: ["dedd4df4", "5fc6ef99"],
  Tile: ["4b37e0d1", "0b6d0bf3"],
};

/** The kernels whose gradients are known. @internal */
export const kernelsWithKnownGradients: readonly string[] = Object.keys(digests);

/**
 * Returns whether a gradient function is one of TensorFlow.js for the kernel, by its source text. Functions of an old
 * or minified build never match. See `actsAsTfjs` for these.
 *
 * @internal
 */
export const isKnownGradient = (kernel: string, gradient: GradFunc): boolean =>
  digests[kernel]?.includes(functionDigest(gradient)) ?? false;
