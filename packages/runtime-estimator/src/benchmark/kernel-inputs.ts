import { CannotRun } from "./cannot-run.js";

/**
 * Input names of TensorFlow.js kernels (4.22.0), in the order in which ops and gradients pass them and a trace lists
 * them. Kernels that take a list of tensors are in `listKernels`. In `FusedBatchNorm` and the fused kernels some inputs
 * may be absent.
 */
const inputNames: Readonly<Record<string, string>> = {
  "a b":
    "Add Atan2 BatchMatMul BitwiseAnd Equal FloorDiv Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor Maximum Minimum Mod Multiply NotEqual Pow RealDiv SquaredDifference Sub",
  "a b bias preluActivationWeights": "_FusedMatMul",
  "boxes scores": "NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5",
  "condition t e": "Select",
  "data indices segmentIds": "SparseSegmentMean SparseSegmentSum",
  "dy filter": "Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput",
  "dy images": "ResizeBilinearGrad ResizeNearestNeighborGrad",
  "dy input": "AvgPoolGrad AvgPool3DGrad",
  "dy input output": "MaxPoolGrad MaxPool3DGrad",
  "dy y": "EluGrad",
  image: "FlipLeftRight RotateWithOffset",
  "image boxes boxInd": "CropAndResize",
  "image transforms": "Transform",
  images: "ResizeBilinear ResizeNearestNeighbor",
  indices: "OneHot",
  "indices updates": "ScatterNd",
  input: "ExpandDims FFT IFFT Imag Real",
  "input numLower numUpper": "MatrixBandPart",
  logits: "LogSoftmax Multinomial Softmax",
  "params indices": "GatherNd",
  "real imag": "Complex",
  "s0 s1": "BroadcastArgs",
  "sortedSequence values": "LowerBound SearchSorted UpperBound",
  "sparseIndices sparseValues defaultValue": "SparseToDense",
  "tensor indices updates": "TensorScatterUpdate",
  value: "Unpack",
  x: "Abs Acos Acosh All Any ArgMax ArgMin Asin Asinh Atan Atanh AvgPool AvgPool3D BatchToSpaceND BroadcastTo Cast Ceil ClipByValue ComplexAbs Cos Cosh Cumprod Cumsum DepthToSpace Diag Elu Erf Exp Expm1 Floor Identity IsFinite IsInf IsNan LRN LeakyRelu Log Log1p LogicalNot Max MaxPool MaxPool3D MaxPoolWithArgmax Mean Min MirrorPad Neg OnesLike PadV2 Prod Reciprocal Relu Relu6 Reshape Reverse Round Rsqrt Selu Sigmoid Sign Sin Sinh Slice Softplus SpaceToBatchND SplitV Sqrt Square Step StridedSlice Sum Tan Tanh Tile TopK Transpose Unique ZerosLike",
  "x alpha": "Prelu",
  "x dy": "Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter",
  "x filter": "Conv2D Conv3D DepthwiseConv2dNative Dilation2D",
  "x filter bias preluActivationWeights": "FusedConv2D FusedDepthwiseConv2D",
  "x filter dy": "Dilation2DBackpropFilter Dilation2DBackpropInput",
  "x indices": "GatherV2",
  "x scale offset mean variance": "FusedBatchNorm",
  "x segmentIds": "UnsortedSegmentSum",
  "x weights": "Bincount DenseBincount",
  "x y dy": "LRNGrad",
  "": "Fill LinSpace Range",
};

const namesByKernel: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(inputNames).flatMap(([names, kernels]) =>
    kernels.split(" ").map((kernel): [string, readonly string[]] => [kernel, names === "" ? [] : names.split(" ")]),
  ),
);

const listKernels: ReadonlySet<string> = new Set(["AddN", "Concat", "Einsum", "Pack"]);

/** Kernels whose inputs cannot be generated: real strings, nested lists, pixels or a consistent sparse tensor. */
const needsRealData: ReadonlySet<string> = new Set([
  ..."Draw FromPixels RaggedGather RaggedRange RaggedTensorToTensor SparseFillEmptyRows SparseReshape".split(" "),
  ..."StaticRegexReplace StringNGrams StringSplit StringToHashBucketFast".split(" "),
]);

/**
 * Returns names for the `count` inputs of a call of `kernel`, or `list` if it takes a plain list. If the `activation`
 * of a fused kernel needs optional inputs, they are assumed to be present.
 *
 * @throws CannotRun
 *
 * @internal
 */
export function inputNamesOf(kernel: string, count: number, activation: unknown): readonly string[] | "list" {
  if (needsRealData.has(kernel)) throw new CannotRun("its inputs cannot be made up");
  if (listKernels.has(kernel)) return "list";
  const names = namesByKernel.get(kernel);
  if (names === undefined) throw new CannotRun("the names of its inputs are not known");
  const present = presentNames(kernel, names, count, activation);
  if (present.length === count) return present;
  throw new CannotRun(`it has ${count} inputs where ${names.length === 0 ? "none" : names.join(", ")} were expected`);
}

function presentNames(kernel: string, names: readonly string[], count: number, activation: unknown): readonly string[] {
  if (kernel === "FusedBatchNorm") return [...names.slice(0, Math.max(1, count - 2)), "mean", "variance"];
  if (!names.includes("preluActivationWeights")) return names;
  if (activation !== "prelu") return names.slice(0, Math.min(count, 3));
  return count === 3 ? [...names.slice(0, 2), "preluActivationWeights"] : names;
}
