import { bytesPerElement, elementsOf } from "@remat/trace";
import { util } from "@tensorflow/tfjs-core";
import type { KernelAttributes } from "../../kernels/index.js";
import type { SharedBuffer, SharingRule, TensorShape } from "../sharing-rules.js";
import { alwaysWhole, listOf, sharedPieces, whole } from "../sharing-rules.js";
import { sliceBounds, splitPieces, stridedSliceBounds, unpackPieces } from "../slice-bounds.js";

/** TensorFlow is built with `EIGEN_MAX_ALIGN_BYTES=64`: a slice shares only if it starts on such a boundary. */
const alignmentBytes = 64;

/**
 * All except for Identity return a new DataId on the same TensorFlow buffer. Source: `tensorflow/core/kernels` of
 * TensorFlow 2.x (reshape_op.h, cast_op.cc, transpose_op.cc, unpack_op.cc, split_v_op.cc, slice_op.cc,
 * strided_slice_op.cc, tile_ops.cc, pad_op.cc, reverse_op.cc, reduction_ops_common.h, mirror_pad_op.cc,
 * spacetobatch_op.cc, aggregate_ops.cc, pack_op.cc, einsum_op_impl.h) and `framework/ops_util.h` for the alignment.
 * @internal
 */
export const tensorflowSharing: ReadonlyMap<string, SharingRule> = new Map<string, SharingRule>([
  ["Identity", alwaysWhole("x")],
  ["Reshape", alwaysWhole("x")],
  ["ExpandDims", alwaysWhole("input")],
  ["Cast", ({ x }, { dtype }) => (x.dtype === dtype ? whole(x) : undefined)],
  ["Transpose", ({ x }, { perm }) => (movesOnlyUnits(x.shape, perm as number[]) ? whole(x) : undefined)],
  ["Unpack", ({ value }, attributes) => unpackShares(value, unpackPieces(value, attributes))],
  ["SplitV", ({ x }, attributes) => splitShares(x, splitPieces(x, attributes))],
  ["Slice", ({ x }, attributes) => sliceShares(x, ...sliceBounds(x, attributes))],
  ["StridedSlice", ({ x }, attributes) => stridedSliceShares(x, attributes)],
  ["Tile", ({ x }, { reps }) => ((reps as number[]).every((n) => n === 1) ? whole(x) : undefined)],
  ["PadV2", ({ x }, { paddings }) => ((paddings as number[][]).flat().every((n) => n === 0) ? whole(x) : undefined)],
  [
    "MirrorPad",
    ({ x }, { paddings }) => ((paddings as number[][]).flat().every((n) => n === 0) ? whole(x) : undefined),
  ],
  ["BatchToSpaceND", ({ x }, { blockShape, crops }) => (movesNoBlock(blockShape, crops) ? whole(x) : undefined)],
  ["SpaceToBatchND", ({ x }, { blockShape, paddings }) => (movesNoBlock(blockShape, paddings) ? whole(x) : undefined)],
  ["AddN", (inputs) => (listOf(inputs).length === 1 ? whole(listOf(inputs)[0]) : undefined)],
  ["Pack", (inputs) => (listOf(inputs).length === 1 ? whole(listOf(inputs)[0]) : undefined)],
  ["Einsum", (inputs, { equation }) => (isIdentityEquation(equation as string) ? whole(listOf(inputs)[0]) : undefined)],
  ["Reverse", ({ x }) => (x.shape.length === 0 ? whole(x) : undefined)],
  ["Sum", ({ x }, { axis }) => reductionShares(x, axis)],
  // The kernel casts to float32 first, so it shares the input's buffer only if that cast does.
  ["Mean", ({ x }, { axis }) => (x.dtype === "float32" ? reductionShares(x, axis) : undefined)],
  ["Max", ({ x }, { reductionIndices }) => reductionShares(x, reductionIndices)],
  ["Min", ({ x }, { axis }) => reductionShares(x, axis)],
  ["Prod", ({ x }, { axis }) => reductionShares(x, axis)],
  ["All", ({ x }, { axis }) => reductionShares(x, axis)],
  ["Any", ({ x }, { axis }) => reductionShares(x, axis)],
]);

/** A reduction over nothing, or over axes of length 1, is a reshape. */
function reductionShares<T extends TensorShape>(x: T, axis: unknown): readonly SharedBuffer<T>[] | undefined {
  const axes = util.parseAxisParam(axis as number[], x.shape as number[]);
  return axes.every((i) => x.shape[i] === 1) ? whole(x) : undefined;
}

function movesNoBlock(blockShape: unknown, borders: unknown): boolean {
  return (blockShape as number[]).every((n) => n === 1) && (borders as number[][]).flat().every((n) => n === 0);
}

function isIdentityEquation(equation: string): boolean {
  const [from, to] = equation.split("->").map((side) => side.trim());
  return from === to && new Set(from).size === from.length;
}

function movesOnlyUnits(shape: readonly number[], perm: readonly number[]): boolean {
  const moved = perm.filter((axis) => shape[axis] !== 1);
  return moved.every((axis, i) => i === 0 || axis > moved[i - 1]);
}

/** True if every row along the first axis starts on a boundary (`IsInnerDimsSizeAligned`). */
function rowsAligned({ shape, dtype }: TensorShape): boolean {
  if (shape.length === 0 || shape[0] === 0) return false;
  return ((elementsOf(shape) / shape[0]) * (bytesPerElement(dtype) ?? 0)) % alignmentBytes === 0;
}

/** `IsDim0SliceAligned`. `end` may also be a size. */
function sliceAligned(x: TensorShape, start: number, end: number): boolean {
  if (x.shape.length !== 1) return rowsAligned(x);
  const bytes = bytesPerElement(x.dtype) ?? 0;
  return (start * bytes) % alignmentBytes === 0 && (end * bytes) % alignmentBytes === 0;
}

function unpackShares<T extends TensorShape>(value: T, { axis, sizes }: { axis: number; sizes: number[] }) {
  return axis === 0 && rowsAligned(value) ? sharedPieces(value, axis, sizes, () => true) : undefined;
}

function splitShares<T extends TensorShape>(x: T, { axis, sizes }: { axis: number; sizes: number[] }) {
  if (sizes.length === 1) return whole(x);
  return axis === 0 && rowsAligned(x) ? sharedPieces(x, axis, sizes, () => true) : undefined;
}

function sliceShares<T extends TensorShape>(x: T, begin: number[], size: number[]) {
  const all = (i: number) => begin[i] === 0 && size[i] === x.shape[i];
  const axes = x.shape.map((_, i) => i);
  if (axes.every(all)) return whole(x);
  return axes.slice(1).every(all) && sliceAligned(x, begin[0], size[0]) ? whole(x) : undefined;
}

function stridedSliceShares<T extends TensorShape>(
  x: T,
  attributes: KernelAttributes,
): readonly SharedBuffer<T>[] | undefined {
  const { isIdentity, sliceDim0, begin, end } = stridedSliceBounds(x, attributes);
  return isIdentity || (sliceDim0 && sliceAligned(x, begin[0], end[0])) ? whole(x) : undefined;
}
