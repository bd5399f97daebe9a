import type {
  ArgMaxAttrs,
  BincountAttrs,
  CumsumAttrs,
  DataType,
  DenseBincountAttrs,
  TensorInfo,
  TopKAttrs,
  UnsortedSegmentSumAttrs,
} from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { axisOf, mismatch, refuseComplex, sumDtype } from "./shapes.js";

type Axes = number | number[] | null | undefined;

/** Returns `shape` without `axes` (by default all), or with 1 in their places. */
export function reduced(shape: number[], axes: Axes, keepDims: boolean | undefined, call: KernelCall): number[] {
  const rank = shape.length;
  let dropped = 0;
  if (axes === null || axes === undefined) dropped = -1;
  else if (typeof axes === "number") dropped = 1 << axisOf(axes, rank, call);
  else for (let i = 0; i < axes.length; i++) dropped |= 1 << axisOf(axes[i], rank, call);
  const out: number[] = [];
  for (let i = 0; i < rank; i++) {
    if ((dropped & (1 << i)) === 0) out.push(shape[i]);
    else if (keepDims) out.push(1);
  }
  return out;
}

const reduction =
  (
    dtype: (of: DataType) => DataType,
    axes: "axis" | "reductionIndices" = "axis",
  ): Infer<X, { keepDims?: boolean } & Record<string, unknown>> =>
  ({ x }, attributes, call) => {
    refuseComplex(call, x);
    return call.make(reduced(x.shape, attributes[axes] as Axes, attributes.keepDims, call), dtype(x.dtype));
  };

const same = (dtype: DataType): DataType => dtype;

/** Starts with a cast, which takes the real part of a complex number. */
const mean: Infer<X, { axis?: Axes; keepDims?: boolean }> = ({ x }, { axis, keepDims }, call) =>
  call.make(reduced(x.shape, axis, keepDims, call), "float32");

/** Only the first of several axes counts. */
const argument: Infer<X, ArgMaxAttrs> = ({ x }, { axis }, call) => {
  refuseComplex(call, x);
  if (x.shape.length === 0) mismatch(call, "a scalar has no axis");
  const first = Array.isArray(axis) ? axis[0] : axis;
  return call.make(reduced(x.shape, first ?? 0, false, call), "int32");
};

const cumulative: Infer<X, CumsumAttrs> = ({ x }, { axis }, call) => {
  refuseComplex(call, x);
  if (axis >= x.shape.length) mismatch(call, `axis ${axis} is out of range for a tensor of rank ${x.shape.length}`);
  return call.make(x.shape, sumDtype(x.dtype));
};

const softmax: Infer<{ logits: TensorInfo }, { dim: number }> = ({ logits }, { dim }, call) => {
  refuseComplex(call, logits);
  const last = logits.shape.length - 1;
  if (dim !== -1 && dim !== last && !call.traits.softmaxTakesAnyAxis)
    mismatch(call, `dim ${dim} is not the last one (${last})`);
  return call.make(logits.shape, "float32");
};

interface Counted extends X {
  readonly weights: TensorInfo;
}

const bincount: Infer<Counted, BincountAttrs> = ({ weights }, { size }, call) => call.make([size], weights.dtype);

const denseBincount: Infer<Counted, DenseBincountAttrs> = ({ x, weights }, { size }, call) => {
  if (x.shape.length > 2 || x.shape.length === 0) mismatch(call, `x must have rank 1 or 2, found ${x.shape.length}`);
  return call.make(x.shape.length === 1 ? [size] : [x.shape[0], size], weights.dtype);
};

const topK: Infer<X, TopKAttrs> = ({ x }, { k }, call) => {
  refuseComplex(call, x);
  const last = x.shape.length - 1;
  if (last < 0 || k > x.shape[last]) mismatch(call, `k is ${k}, more than the last axis of [${x.shape}]`);
  const shape = x.shape.slice();
  shape[last] = k;
  return [call.make(shape, x.dtype), call.make(shape, "int32")];
};

const unsortedSegmentSum: Infer<X & { segmentIds: TensorInfo }, UnsortedSegmentSumAttrs> = (
  { x, segmentIds },
  { numSegments },
  call,
) => {
  refuseComplex(call, x);
  if (numSegments < 1) mismatch(call, `numSegments is ${numSegments}, expected at least 1`);
  for (let i = 0; i < segmentIds.shape.length; i++) {
    if (segmentIds.shape[i] !== x.shape[i])
      mismatch(call, `the shape [${x.shape}] does not begin with the shape [${segmentIds.shape}] of segmentIds`);
  }
  return call.make([numSegments, ...x.shape.slice(1)], call.traits.segmentSumKeepsDtype ? x.dtype : "float32");
};

/** Kernels that fold or scan an axis. */
export const reductionKernels: InferTable = {
  All: reduction(same),
  Any: reduction(same),
  ArgMax: argument,
  ArgMin: argument,
  Bincount: bincount,
  Cumprod: cumulative,
  Cumsum: cumulative,
  DenseBincount: denseBincount,
  Max: reduction(same, "reductionIndices"),
  Mean: mean,
  Min: reduction(same),
  Prod: reduction(sumDtype),
  Softmax: softmax,
  Sum: reduction(sumDtype),
  TopK: topK,
  UnsortedSegmentSum: unsortedSegmentSum,
};
