import { slice_util, util } from "@tensorflow/tfjs-core";
import { type KernelAttributes, type StridedSlice } from "../kernels/index.js";
import { stridedSliceInfo } from "../kernels/indexing.js";
import type { TensorShape } from "./sharing-rules.js";

/** Returns `begin` and `size` of a Slice, without the shorthands that TensorFlow.js allows. @internal */
export function sliceBounds(x: TensorShape, { begin, size }: KernelAttributes): [begin: number[], size: number[]] {
  return slice_util.parseSliceParams(x as never, begin as number[], size as number[]) as [number[], number[]];
}

export interface StridedSliceBounds {
  readonly isIdentity: boolean;
  readonly sliceDim0: boolean;
  readonly isSimpleSlice: boolean;
  readonly begin: number[];
  readonly end: number[];
  readonly size: number[];
}

/** Returns the bounds of a StridedSlice. @internal */
export function stridedSliceBounds(x: TensorShape, attributes: KernelAttributes): StridedSliceBounds {
  const info = stridedSliceInfo(x.shape, attributes as unknown as StridedSlice);
  return { ...info, size: slice_util.computeOutShape(info.begin, info.end, info.strides) };
}

/** Returns the sizes of the pieces of a SplitV and its axis, counted from the front. @internal */
export function splitPieces(x: TensorShape, attributes: KernelAttributes): { axis: number; sizes: number[] } {
  const [axis] = util.parseAxisParam(attributes.axis as number, x.shape as number[]);
  const given = attributes.numOrSizeSplits as number | number[];
  const length = x.shape[axis];
  if (typeof given === "number") return { axis, sizes: new Array<number>(given).fill(length / given) };
  const known = given.reduce((sum, size) => (size === -1 ? sum : sum + size), 0);
  return { axis, sizes: given.map((size) => (size === -1 ? length - known : size)) };
}

/** Returns the axis of an Unpack, and size 1 for each of its outputs. @internal */
export function unpackPieces(value: TensorShape, attributes: KernelAttributes): { axis: number; sizes: number[] } {
  const given = attributes.axis as number;
  const axis = given < 0 ? given + value.shape.length : given;
  return { axis, sizes: new Array<number>(value.shape[axis]).fill(1) };
}
