import { backend_util, gather_util, slice_util, type TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { axisOf, mismatch, refuseComplex, sizeOf } from "./shapes.js";

const slice: Infer<X, { begin: number | number[]; size?: number | number[] | null }> = (
  { x },
  { begin, size },
  call,
) => {
  refuseComplex(call, x);
  const rank = x.shape.length;
  if ((Array.isArray(begin) && begin.length > rank) || (Array.isArray(size) && size.length > rank)) {
    mismatch(call, `begin [${begin}] or size [${size}] is longer than the shape [${x.shape}]`);
  }
  const shape = new Array<number>(rank);
  for (let i = 0; i < rank; i++) {
    const from = (typeof begin === "number" ? (i === 0 ? begin : 0) : begin[i]) ?? 0;
    const given = (typeof size === "number" ? (i === 0 ? size : -1) : size?.[i]) ?? -1;
    if (from === -1 || given < -1) mismatch(call, `begin [${begin}] or size [${size}] is negative`);
    shape[i] = given === -1 ? x.shape[i] - from : given;
    if (from + shape[i] > x.shape[i] || shape[i] < 0)
      mismatch(call, `begin [${begin}] and size [${size}] exceed the shape [${x.shape}]`);
  }
  return call.make(shape, x.dtype);
};

/** Attributes of a StridedSlice. */
export interface StridedSlice {
  /** First index on each axis. */
  readonly begin: number[];
  /** End index on each axis. */
  readonly end: number[];
  /** Step on each axis. */
  readonly strides: number[];
  /** Bits of the axes whose `begin` is ignored. */
  readonly beginMask: number;
  /** Bits of the axes whose `end` is ignored. */
  readonly endMask: number;
  /** Bit of the entry that stands for all remaining axes. */
  readonly ellipsisMask: number;
  /** Bits of the entries that insert an axis of length 1. */
  readonly newAxisMask: number;
  /** Bits of the axes that are removed. */
  readonly shrinkAxisMask: number;
}

/** Returns the interpretation of a StridedSlice's attributes in TensorFlow.js, for data of `shape`. */
export function stridedSliceInfo(shape: readonly number[], a: StridedSlice): slice_util.SliceInfo {
  return slice_util.sliceInfo(
    shape as number[],
    a.begin,
    a.end,
    a.strides,
    a.beginMask,
    a.endMask,
    a.ellipsisMask,
    a.newAxisMask,
    a.shrinkAxisMask,
  );
}

const stridedSlice: Infer<X, StridedSlice> = ({ x }, a, call) => {
  refuseComplex(call, x);
  const info = stridedSliceInfo(x.shape, a);
  if (info.isIdentity && call.traits.reshapeShares) return call.share(x, info.finalShape, x.dtype);
  const simple = info.isIdentity || info.sliceDim0 || info.isSimpleSlice;
  if (simple && call.traits.checksSliceBounds) {
    const size = slice_util.computeOutShape(info.begin, info.end, info.strides);
    if (size.some((length) => length < 0)) mismatch(call, `begin [${info.begin}] is after end [${info.end}]`);
  }
  return call.make(info.finalShape, simple || !call.traits.stridesInFloat32 ? x.dtype : "float32");
};

const gather: Infer<X & { indices: TensorInfo }, { axis: number; batchDims?: number }> = (
  { x, indices },
  { axis, batchDims },
  call,
) => {
  refuseComplex(call, x);
  refuseComplex(call, indices);
  const along = axisOf(axis, x.shape.length, call);
  const { outputShape } = backend_util.segment_util.collectGatherOpShapeInfo(
    x as never,
    indices as never,
    along,
    batchDims ?? 0,
  );
  return call.make(outputShape, x.dtype);
};

const gatherNd: Infer<{ params: TensorInfo; indices: TensorInfo }> = ({ params, indices }, _, call) =>
  call.make(gather_util.prepareAndValidate(params, indices)[0], params.dtype);

const scatterNd: Infer<{ indices: TensorInfo; updates: TensorInfo }, { shape: number[] }> = (
  { updates },
  { shape },
  call,
) => call.make(shape, updates.dtype);

const tensorScatterUpdate: Infer<{ tensor: TensorInfo; updates: TensorInfo }> = ({ tensor, updates }, _, call) =>
  call.make(tensor.shape, sizeOf(tensor.shape) === 0 ? updates.dtype : tensor.dtype);

const sparseToDense: Infer<{ sparseValues: TensorInfo }, { outputShape: number[] }> = (
  { sparseValues },
  { outputShape },
  call,
) => {
  refuseComplex(call, sparseValues);
  return call.make(outputShape, sparseValues.dtype);
};

const searchSorted: Infer<{ values: TensorInfo }> = ({ values }, _, call) => call.make(values.shape, "int32");

const unique: Infer = (_, __, call) => call.dependsOnData();

/** Kernels that read or write at given places. */
export const indexingKernels: InferTable = {
  GatherNd: gatherNd,
  GatherV2: gather,
  ScatterNd: scatterNd,
  SearchSorted: searchSorted,
  Slice: slice,
  SparseToDense: sparseToDense,
  StridedSlice: stridedSlice,
  TensorScatterUpdate: tensorScatterUpdate,
  Unique: unique,
};
