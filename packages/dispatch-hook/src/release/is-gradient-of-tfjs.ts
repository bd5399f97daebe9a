import { type GradFunc, getGradient } from "@tensorflow/tfjs-core";
import { functionDigest, isFunctionOfTfjs } from "../gradients/function-of-tfjs.js";

/** By kernel, the digest of its gradient function in tfjs 4.17 to 4.22, as Node and bundlers load it. */
const digests: Readonly<Record<string, string>> = {
  Add: "bd4727d8960c1b4b",
  AddN: "5255029ef4530550",
  BatchMatMul: "6b08589ddba84eaa",
  Concat: "7b9ea00c260e663a",
  Conv2D: "656ec1a22f09f85b",
  Conv2DBackpropInput: "77363dad4d7419e9",
  Conv3D: "5733dd151233d472",
  Cumsum: "37f45503ee198d3b",
  DepthwiseConv2dNative: "4ade5d5a552bb499",
  ExpandDims: "5510c071571369fd",
  FloorDiv: "84ccede644dd5847",
  GreaterEqual: "a1196282584e8ee9",
  Mean: "97b088187c4cffe2",
  MirrorPad: "21941af024cb81d7",
  Mod: "e4672641497f7bf7",
  Multiply: "03daadc0321282d0",
  OneHot: "2eefc27060822bd7",
  Pack: "6b5bb3b294f30011",
  PadV2: "21941af024cb81d7",
  Pow: "267628383dccf644",
  Prelu: "786d1645f671c795",
  RealDiv: "84ccede644dd5847",
  Reshape: "055891c0655a7371",
  Slice: "e55c7810d0d1e328",
  Sub: "6acbb153c4839fa8",
  Sum: "28b85cbb0b82d3f4",
};
const kernels = Object.keys(digests);

/** By kernel, the gradient that was there when it was first looked for. */
const firstSeen = new Map<string, GradFunc>();
let isKnownBuild: boolean | undefined;

/**
 * Whether the gradient of one of the kernels above is tfjs's, or that of another copy of tfjs, and not one that somebody has registered in its place. In a
 * build whose functions have other texts (an old or minified one) that is the one which was there when it was first looked for: the sooner the better, so this
 * module does so for all when it is loaded.
 *
 * @internal
 */
export function isGradientOfTfjs(kernel: string): boolean {
  const registered = getGradient(kernel)?.gradFunc;
  if (registered === undefined) return true;
  if (knowsBuild()) return isFunctionOfTfjs(registered, digests[kernel]);
  const first = firstSeen.get(kernel);
  if (first !== undefined) return registered === first || isFunctionOfTfjs(registered, functionDigest(first));
  firstSeen.set(kernel, registered);
  return true;
}

/** Whether the texts of this build of tfjs are those above: nobody registers most of them anew. */
function knowsBuild(): boolean {
  if (isKnownBuild !== undefined) return isKnownBuild;
  const registered = kernels.filter((kernel) => getGradient(kernel) !== undefined);
  const known = registered.filter((kernel) => isFunctionOfTfjs(getGradient(kernel).gradFunc, digests[kernel]));
  const isKnown = known.length > kernels.length / 2;
  // tfjs-core alone has no gradients: they come with tfjs.
  if (registered.length > kernels.length / 2) isKnownBuild = isKnown;
  return isKnown;
}

for (const kernel of kernels) isGradientOfTfjs(kernel);
