import { elementsOf } from "@remat/trace";
import type { OpCall, TensorType } from "../op-call.js";

/** Classes of kernels of similar cost, in the order in which they are shown. A kernel without a class is elementwise. */
const kernelsOfClass: Readonly<Record<string, string>> = {
  matmul: "BatchMatMul _FusedMatMul Einsum",
  convolution:
    "Conv2D Conv2DBackpropFilter Conv2DBackpropInput FusedConv2D Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput",
  depthwise:
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput FusedDepthwiseConv2D",
  pooling:
    "AvgPool AvgPoolGrad AvgPool3D AvgPool3DGrad MaxPool MaxPoolGrad MaxPool3D MaxPool3DGrad MaxPoolWithArgmax LRN LRNGrad",
  reduction:
    "All Any ArgMax ArgMin Cumprod Cumsum LogSoftmax Max Mean Min Prod Softmax Sum Bincount DenseBincount TopK Unique",
  movement:
    "BatchToSpaceND BroadcastTo Concat CropAndResize DepthToSpace Diag FlipLeftRight GatherNd GatherV2 MatrixBandPart MirrorPad OneHot Pack PadV2 ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad Reverse RotateWithOffset ScatterNd Slice SpaceToBatchND SparseToDense SplitV StridedSlice TensorScatterUpdate Tile Transform Transpose Unpack UnsortedSegmentSum",
  view: "ExpandDims Identity Reshape",
};

/** The class of kernels that no other class lists. */
const elementwise = "elementwise";

/** All classes of kernels, in the order in which they are shown. */
export const kernelClasses: readonly string[] = [...Object.keys(kernelsOfClass), elementwise];

const classByKernel: ReadonlyMap<string, string> = new Map(
  Object.entries(kernelsOfClass).flatMap(([name, kernels]) => kernels.split(" ").map((kernel) => [kernel, name])),
);

/**
 * Returns the names under which the speed of a call may be listed in `DeviceSpec.kernels`, most specific first: its
 * kind of call (if the kernel has several), its kernel, its class.
 */
export function speedKeys(call: OpCall): readonly string[] {
  const kind = kindOfCall(call);
  const shared = [call.name, classByKernel.get(call.name) ?? elementwise];
  return kind === undefined ? shared : [`${call.name}/${kind}`, ...shared];
}

/** Returns the kind of a call among those of its kernel: kinds have other speeds at equal size. */
function kindOfCall(call: OpCall): string | undefined {
  const { inputs, outputs, attributes = {} } = call;
  switch (call.name) {
    case "Conv2D":
    case "FusedConv2D":
    case "Conv2DBackpropInput":
      return kindOfFilter(inputs[1]);
    case "Conv2DBackpropFilter":
      return kindOfFilter(outputs[0]);
    case "BatchMatMul":
    case "_FusedMatMul":
      return kindOfProduct(call);
    case "Sum":
    case "Mean":
    case "Max":
    case "Min":
    case "Prod":
      return kindOfReduction(call);
    case "Transpose": {
      const { perm } = attributes;
      return Array.isArray(perm) && perm.at(-1) === perm.length - 1 ? "rows" : "elements";
    }
    case "Concat":
    case "SplitV":
      return isOutermost(inputs[0], attributes["axis"] ?? 0) ? "outer" : "inner";
    case "Cast":
      return inputs[0]?.dtype === outputs[0]?.dtype ? "same" : `${inputs[0]?.dtype}`;
    default:
      return binaryKernels.has(call.name) ? kindOfBroadcast(inputs) : undefined;
  }
}

const binaryKernels: ReadonlySet<string> = new Set(
  "Add Atan2 Equal FloorDiv Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Multiply NotEqual Pow RealDiv SquaredDifference Sub".split(
    " ",
  ),
);

function kindOfFilter(filter: TensorType | undefined): string {
  return elementsOf(filter?.shape.slice(0, 2) ?? []) === 1 ? "1x1" : "larger";
}

function kindOfProduct({ outputs, attributes }: OpCall): string {
  const sides = [attributes?.["transposeA"], attributes?.["transposeB"]].map((flag) => (flag === true ? "t" : "n"));
  return `${elementsOf(outputs[0].shape.slice(0, -2)) > 1 ? "batched" : "single"} ${sides.join("")}`;
}

function kindOfReduction({ inputs, outputs, attributes }: OpCall): string {
  if (elementsOf(outputs[0].shape) === 1) return "all";
  const axes = [attributes?.["axis"] ?? attributes?.["reductionIndices"] ?? []].flat();
  return axes.includes(inputs[0].shape.length - 1) || axes.includes(-1) ? "inner" : "outer";
}

/** True if all dimensions before `axis` have one element, so that the parts are contiguous. */
function isOutermost(input: TensorType | undefined, axis: unknown): boolean {
  const shape = input?.shape ?? [];
  const position = Number(axis);
  return elementsOf(shape.slice(0, position < 0 ? position + shape.length : position)) === 1;
}

function kindOfBroadcast(inputs: readonly TensorType[]): string {
  const [a, b] = inputs.map(({ shape }) => shape);
  if (a === undefined || b === undefined || String(a) === String(b)) return "same shape";
  return elementsOf(a) === 1 || elementsOf(b) === 1 ? "scalar" : "broadcast";
}
