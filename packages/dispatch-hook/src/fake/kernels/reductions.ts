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
import type { FakeBackend } from "../fake-backend.js";
import type { Infer, InferTable, X } from "./infer.js";
import { axisOf, mismatch, refuseComplex, sumDtype } from "./shapes.js";

type Axes = number | number[] | null | undefined;

/** `shape` without `axes` (all of them, if none are given), or with 1 in their places. */
export function reduced(shape: number[], axes: Axes, keepDims: boolean | undefined, backend: FakeBackend): number[] {
  const rank = shape.length;
  let dropped = 0;
  if (axes === null || axes === undefined) dropped = -1;
  else if (typeof axes === "number") dropped = 1 << axisOf(axes, rank, backend);
  else for (let i = 0; i < axes.length; i++) dropped |= 1 << axisOf(axes[i], rank, backend);
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
  ({ x }, attributes, backend) => {
    refuseComplex(backend, x);
    return backend.make(reduced(x.shape, attributes[axes] as Axes, attributes.keepDims, backend), dtype(x.dtype));
  };

const same = (dtype: DataType): DataType => dtype;

/** Starts with a cast, which takes the real part of a complex number. */
const mean: Infer<X, { axis?: Axes; keepDims?: boolean }> = ({ x }, { axis, keepDims }, backend) =>
  backend.make(reduced(x.shape, axis, keepDims, backend), "float32");

/** Of several axes only the first one counts. */
const argument: Infer<X, ArgMaxAttrs> = ({ x }, { axis }, backend) => {
  refuseComplex(backend, x);
  if (x.shape.length === 0) mismatch(backend, "a scalar has no axis");
  const first = Array.isArray(axis) ? axis[0] : axis;
  return backend.make(reduced(x.shape, first ?? 0, false, backend), "int32");
};

const cumulative: Infer<X, CumsumAttrs> = ({ x }, { axis }, backend) => {
  refuseComplex(backend, x);
  if (axis >= x.shape.length) mismatch(backend, `axis ${axis} is not in a tensor of rank ${x.shape.length}`);
  return backend.make(x.shape, sumDtype(x.dtype));
};

const softmax: Infer<{ logits: TensorInfo }, { dim: number }> = ({ logits }, { dim }, backend) => {
  refuseComplex(backend, logits);
  const last = logits.shape.length - 1;
  if (dim !== -1 && dim !== last && backend.standsFor !== "tensorflow")
    mismatch(backend, `dim ${dim} is not the last one (${last})`);
  return backend.make(logits.shape, "float32");
};

interface Counted extends X {
  readonly weights: TensorInfo;
}

const bincount: Infer<Counted, BincountAttrs> = ({ weights }, { size }, backend) => backend.make([size], weights.dtype);

const denseBincount: Infer<Counted, DenseBincountAttrs> = ({ x, weights }, { size }, backend) => {
  if (x.shape.length > 2 || x.shape.length === 0)
    mismatch(backend, `x must have rank 1 or 2 and has ${x.shape.length}`);
  return backend.make(x.shape.length === 1 ? [size] : [x.shape[0], size], weights.dtype);
};

const topK: Infer<X, TopKAttrs> = ({ x }, { k }, backend) => {
  refuseComplex(backend, x);
  const last = x.shape.length - 1;
  if (last < 0 || k > x.shape[last]) mismatch(backend, `k is ${k} and the last axis of [${x.shape}] is shorter`);
  const shape = x.shape.slice();
  shape[last] = k;
  return [backend.make(shape, x.dtype), backend.make(shape, "int32")];
};

const unsortedSegmentSum: Infer<X & { segmentIds: TensorInfo }, UnsortedSegmentSumAttrs> = (
  { x, segmentIds },
  { numSegments },
  backend,
) => {
  refuseComplex(backend, x);
  if (numSegments < 1) mismatch(backend, `numSegments is ${numSegments}`);
  for (let i = 0; i < segmentIds.shape.length; i++) {
    if (segmentIds.shape[i] !== x.shape[i])
      mismatch(backend, `segmentIds [${segmentIds.shape}] do not begin the shape [${x.shape}]`);
  }
  return backend.make([numSegments, ...x.shape.slice(1)], backend.standsFor === "tensorflow" ? x.dtype : "float32");
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
