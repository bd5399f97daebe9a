import type { GradFunc } from "@tensorflow/tfjs-core";
import { functionDigest } from "./function-of-tfjs.js";

/**
 * By kernel, the digests of its gradient function in tfjs 4.17 to 4.22: as `@tensorflow/tfjs` and bundlers load it, and as tfjs-layers by itself brings it in Node, compiled to
 * ES5. Whichever is loaded last has registered its own.
 */
const digests: Readonly<Record<string, readonly string[]>> = {
  Add: ["bd4727d8960c1b4b", "f71c8a9a3b8d54fe"],
  AddN: ["5255029ef4530550", "1b28f42c013ab380"],
  BatchMatMul: ["6b08589ddba84eaa", "4578b12426b07a87"],
  Concat: ["7b9ea00c260e663a", "ccec0cc07773dd7d"],
  Conv2D: ["656ec1a22f09f85b", "40b68d74f387b495"],
  Conv2DBackpropInput: ["77363dad4d7419e9", "f9f9aa885fb82098"],
  Conv3D: ["5733dd151233d472", "a0a321a5cdf72716"],
  Cumsum: ["37f45503ee198d3b", "62a04b14970a7fad"],
  DepthwiseConv2dNative: ["4ade5d5a552bb499", "c1c9e4f1a58a9cd5"],
  ExpandDims: ["5510c071571369fd", "7522a2ab48ec97b9"],
  FloorDiv: ["84ccede644dd5847", "5fefe2f370c56dae"],
  FusedBatchNorm: ["b539cb065721663d", "3bd709297b8d5b2d"],
  GreaterEqual: ["a1196282584e8ee9", "94e53a6416ee8312"],
  Mean: ["97b088187c4cffe2", "9518397911ad9da6"],
  MirrorPad: ["21941af024cb81d7", "bdd2aa549ca9c23b"],
  Mod: ["e4672641497f7bf7", "4b94d3bc0c02c428"],
  Multiply: ["03daadc0321282d0", "c7cf27b746a2278b"],
  OneHot: ["2eefc27060822bd7", "a72d280a03a7eefe"],
  Pack: ["6b5bb3b294f30011", "ff61431c752882f4"],
  PadV2: ["21941af024cb81d7", "bdd2aa549ca9c23b"],
  Pow: ["267628383dccf644", "585aec4b979e0e4b"],
  Prelu: ["786d1645f671c795", "9595ea6d865dc85d"],
  RealDiv: ["84ccede644dd5847", "5fefe2f370c56dae"],
  Reshape: ["055891c0655a7371", "0b2031e5c25b06c9"],
  Slice: ["e55c7810d0d1e328", "ac16bdc3f203f60a"],
  Sub: ["6acbb153c4839fa8", "40553a589e4a437b"],
  Sum: ["28b85cbb0b82d3f4", "22002b661f39af79"],
  Tile: ["3cb2dce4872efbd1", "293f71836bf39af3"],
};

/** The kernels whose gradients are known. @internal */
export const kernelsWithKnownGradients: readonly string[] = Object.keys(digests);

/**
 * Whether a gradient function is one of tfjs's for the kernel, by its text. In an old build of tfjs or a minified one none is.
 *
 * @internal
 */
export const isKnownGradient = (kernel: string, gradient: GradFunc): boolean =>
  digests[kernel]?.includes(functionDigest(gradient)) ?? false;
