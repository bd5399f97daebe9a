import type { OpCall } from "../op-call.js";
import { inputElements, type KernelFormula, noFlops, outputElements, perOutput } from "./kernel-formula.js";

/**
 * FLOPs of one evaluation of a special function: exponential, logarithm, square root, sine, hyperbolic tangent, or the
 * reciprocal in a division. A GPU's special function units run at a quarter of the multiply-add rate (CUDA C++
 * Programming Guide, throughput of arithmetic instructions, compute capability 8.0: 16 against 64 results per clock and
 * multiprocessor), and a multiply-add is two FLOPs.
 */
export const specialFunction = 8;

/** FLOPs per output element of elementwise kernels. A comparison, a sign or a selection counts as one FLOP. */
const perElement: Readonly<Record<string, number>> = {
  ...weigh(
    1,
    "Abs Add BitwiseAnd Ceil Equal Floor Greater GreaterEqual IsFinite IsInf IsNan Less LessEqual LogicalAnd",
  ),
  ...weigh(
    1,
    "LogicalNot LogicalOr LogicalXor Maximum Minimum Multiply Neg NotEqual Relu Round Select Sign Square Step Sub",
  ),
  ...weigh(2, "ClipByValue LeakyRelu Prelu Relu6 SquaredDifference EluGrad MatrixBandPart"),
  ...weigh(specialFunction, "Cos Exp Expm1 FloorDiv Log Log1p Mod RealDiv Reciprocal Rsqrt Sin Sqrt Tanh"),
  ...weigh(specialFunction + 2, "Elu"),
  ...weigh(specialFunction + 3, "ComplexAbs Selu"),
  // Two special functions each: one of exp or log, plus a square root or a division.
  ...weigh(2 * specialFunction, "Acos Acosh Asin Asinh Atan Atan2 Atanh Cosh Erf Pow Sigmoid Sinh Softplus Tan"),
};

export const elementwiseFlops: Readonly<Record<string, KernelFormula>> = {
  ...Object.fromEntries(Object.entries(perElement).map(([kernel, flops]) => [kernel, perOutput(flops)])),
  AddN: (call) => Math.max(0, call.inputs.length - 1) * outputElements(call),
  // Difference to the mean, scale, shift. Per channel also the reciprocal root of the variance.
  FusedBatchNorm: (call) =>
    4 * outputElements(call) + (specialFunction + 1) * inputElements(call, call.inputs.length - 1),
};

/** Returns the FLOPs of bias and activation of a fused kernel, as if they were separate kernels. */
export function epilogueFlops(call: OpCall): number {
  const activation = call.attributes?.["activation"];
  const prelu = activation === "prelu";
  const bias = call.inputs.length - 2 - (prelu ? 1 : 0) > 0 ? 1 : 0;
  const kernel = typeof activation === "string" ? activationKernels[activation] : undefined;
  return outputElements(call) * (bias + (kernel === undefined ? 0 : perElement[kernel]));
}

const activationKernels: Readonly<Record<string, string>> = {
  relu: "Relu",
  relu6: "Relu6",
  elu: "Elu",
  prelu: "Prelu",
  leakyrelu: "LeakyRelu",
  sigmoid: "Sigmoid",
};

/** Kernels that only move, read or create data. */
export const dataMovement: Readonly<Record<string, KernelFormula>> = Object.fromEntries(
  [
    ..."BatchToSpaceND BroadcastTo BroadcastArgs Cast Complex Concat DepthToSpace Diag Draw ExpandDims Fill".split(" "),
    ..."FlipLeftRight FromPixels GatherNd GatherV2 Identity Imag LinSpace MirrorPad OneHot OnesLike Pack PadV2".split(
      " ",
    ),
    ..."RaggedGather RaggedRange RaggedTensorToTensor Range Real Reshape ResizeNearestNeighbor Reverse Slice".split(
      " ",
    ),
    ..."SpaceToBatchND SparseFillEmptyRows SparseReshape SparseToDense SplitV StaticRegexReplace StridedSlice".split(
      " ",
    ),
    ..."StringNGrams StringSplit StringToHashBucketFast TensorScatterUpdate Tile Transpose Unpack ZerosLike".split(" "),
  ].map((kernel) => [kernel, noFlops]),
);

function weigh(flops: number, kernels: string): Record<string, number> {
  return Object.fromEntries(kernels.split(" ").map((kernel) => [kernel, flops]));
}
