import { backend_util, slice_util, util } from "@tensorflow/tfjs-core";
import type { KernelAttributes } from "../../kernels/index.js";
import type { SharedBuffer, SharingRule, TensorShape } from "../sharing-rules.js";
import { alwaysWhole, listOf, sharedPieces, whole } from "../sharing-rules.js";
import { sliceBounds, splitPieces, stridedSliceBounds, unpackPieces } from "../slice-bounds.js";

/**
 * Outputs have the same DataId with a counted reference (Identity, Reshape), or a new DataId on the same `ArrayBuffer`:
 * a contiguous slice is a `subarray`, and the parts of a complex number are the arrays it was made from. Strings are
 * copied. @internal
 */
export const cpuSharing: ReadonlyMap<string, SharingRule> = new Map<string, SharingRule>([
  ["Identity", alwaysWhole("x")],
  ["Reshape", alwaysWhole("x")],
  ["ExpandDims", alwaysWhole("input")],
  ["Cast", ({ x }, attributes) => castShares(x, attributes.dtype as string)],
  ["Concat", (inputs) => onlyOne(listOf(inputs).filter((t) => util.sizeFromShape(t.shape as number[]) > 0))],
  ["Pack", (inputs) => onlyOne(listOf(inputs))],
  ["Einsum", (inputs, attributes) => einsumShares(listOf(inputs), attributes)],
  ["Reverse", ({ x }) => (x.shape.length === 0 ? whole(x) : undefined)],
  ["AvgPool", ({ x }, attributes) => poolShares(x, attributes)],
  ["MaxPool", ({ x }, attributes) => poolShares(x, attributes)],
  ["Slice", ({ x }, attributes) => (isContiguous(x, ...sliceBounds(x, attributes)) ? whole(x) : undefined)],
  ["StridedSlice", ({ x }, attributes) => stridedSliceShares(x, attributes)],
  ["SplitV", ({ x }, attributes) => piecesShare(x, splitPieces(x, attributes))],
  ["Unpack", ({ value }, attributes) => piecesShare(value, unpackPieces(value, attributes))],
  [
    "TensorScatterUpdate",
    ({ tensor }) => (util.sizeFromShape(tensor.shape as number[]) > 0 ? whole(tensor) : undefined),
  ],
  ["Real", ({ input }) => [{ output: 0, input, inputPart: "real" }]],
  ["Imag", ({ input }) => [{ output: 0, input, inputPart: "imag" }]],
  [
    "Complex",
    ({ real, imag }) => [
      { output: 0, outputPart: "real", input: real },
      { output: 0, outputPart: "imag", input: imag },
    ],
  ],
]);

function onlyOne<T extends TensorShape>(inputs: readonly T[]): readonly SharedBuffer<T>[] | undefined {
  return inputs.length === 1 ? whole(inputs[0]) : undefined;
}

function castShares<T extends TensorShape>(x: T, dtype: string): readonly SharedBuffer<T>[] | undefined {
  if (x.dtype === "complex64") {
    if (dtype === "complex64") return whole(x);
    return dtype === "float32" ? [{ output: 0, input: x, inputPart: "real" }] : undefined;
  }
  if (dtype === "complex64") return [{ output: 0, outputPart: "real", input: x }];
  return util.hasEncodingLoss(x.dtype as never, dtype as never) ? undefined : whole(x);
}

function isContiguous(x: TensorShape, begin: number[], size: number[]): boolean {
  return x.dtype !== "string" && slice_util.isSliceContinous(x.shape as number[], begin, size);
}

function stridedSliceShares<T extends TensorShape>(x: T, attributes: KernelAttributes) {
  const { isIdentity, sliceDim0, isSimpleSlice, begin, size } = stridedSliceBounds(x, attributes);
  return isIdentity || ((sliceDim0 || isSimpleSlice) && isContiguous(x, begin, size)) ? whole(x) : undefined;
}

function piecesShare<T extends TensorShape>(x: T, { axis, sizes }: { axis: number; sizes: number[] }) {
  return sharedPieces(x, axis, sizes, (begin, size) => isContiguous(x, begin, size));
}

function poolShares<T extends TensorShape>(x: T, attributes: KernelAttributes) {
  const { filterSize, strides, pad, dimRoundingMode } = attributes as Record<string, never>;
  const info = backend_util.computePool2DInfo(x.shape as never, filterSize, strides, 1, pad, dimRoundingMode);
  const copies = info.filterWidth !== 1 || info.filterHeight !== 1 || !util.arraysEqual(info.inShape, info.outShape);
  return copies ? undefined : whole(x);
}

/** A single operand that is neither permuted nor summed is returned unchanged. */
function einsumShares<T extends TensorShape>(tensors: readonly T[], attributes: KernelAttributes) {
  if (tensors.length !== 1) return undefined;
  const { allDims, summedDims, idDims } = backend_util.decodeEinsumEquation(attributes.equation as string, 1);
  const { permutationIndices } = backend_util.getEinsumPermutation(allDims.length, idDims[0]);
  return summedDims.length === 0 && backend_util.isIdentityPermutation(permutationIndices)
    ? whole(tensors[0])
    : undefined;
}
