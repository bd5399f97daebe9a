import { type DataType, type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "../fake-backend.js";
import type { Infer, InferTable, X } from "./infer.js";
import { axisOf, mismatch, refuseComplex, sameShape, sizeOf } from "./shapes.js";

/** The same values under another shape: on the same data id where the backend does so. */
function reshaped(x: TensorInfo, shape: number[], backend: FakeBackend): TensorInfo {
  return backend.reshapeShares ? backend.share(x, shape, x.dtype) : backend.copy(x, shape, x.dtype);
}

const identity: Infer<X> = ({ x }, _, backend) =>
  backend.identityShares ? backend.share(x, x.shape, x.dtype) : backend.copy(x, x.shape, x.dtype);

const reshape: Infer<X, { shape: number[] }> = ({ x }, { shape }, backend) => {
  const size = sizeOf(x.shape);
  let known = 1;
  let open = -1;
  for (let i = 0; i < shape.length; i++) {
    if (shape[i] >= 0) known *= shape[i];
    else if (shape[i] === -1 && open < 0) open = i;
    else mismatch(backend, `shape [${shape}] has a second unknown or a negative dimension`);
  }
  if (open < 0 ? known !== size : known === 0 || size % known !== 0) {
    mismatch(backend, `[${x.shape}] has ${size} elements, which do not fit [${shape}]`);
  }
  if (open < 0) return reshaped(x, shape, backend);
  const full = shape.slice();
  full[open] = size / known;
  return reshaped(x, full, backend);
};

const expandDims: Infer<{ input: TensorInfo }, { dim: number }> = ({ input }, { dim }, backend) => {
  const rank = input.shape.length;
  if (dim < -(rank + 1)) mismatch(backend, `dim ${dim} is not in [${-(rank + 1)}, ${rank}]`);
  const shape = input.shape.slice();
  shape.splice(dim < 0 ? rank + dim + 1 : dim, 0, 1);
  return reshaped(input, shape, backend);
};

const cast: Infer<X, { dtype: DataType }> = ({ x }, { dtype }, backend) => {
  const toOrFromComplex = x.dtype === "complex64" || dtype === "complex64";
  if (backend.castShares) {
    if (x.dtype === dtype && dtype === "complex64") return backend.share(x, x.shape, dtype);
    if (!toOrFromComplex && !util.hasEncodingLoss(x.dtype, dtype)) return backend.share(x, x.shape, dtype);
  }
  if (x.dtype === dtype) return backend.copy(x, x.shape, dtype);
  if (x.dtype === "string" || dtype === "string") mismatch(backend, `a ${x.dtype} tensor cannot become ${dtype}`);
  return backend.make(x.shape, dtype);
};

const transpose: Infer<X, { perm: number[] }> = ({ x }, { perm }, backend) => {
  refuseComplex(backend, x);
  const rank = x.shape.length;
  const shape = new Array<number>(rank);
  for (let i = 0; i < rank; i++) shape[i] = x.shape[perm[i]];
  return backend.make(shape, x.dtype);
};

const concat: Infer<TensorInfo[], { axis: number }> = (tensors, attributes, backend) => {
  const first = tensors[0].shape;
  const axis = axisOf(attributes.axis, first.length, backend);
  const shape = first.slice();
  let filled: TensorInfo | undefined = sizeOf(first) > 0 ? tensors[0] : undefined;
  let filledCount = filled === undefined ? 0 : 1;
  for (let i = 1; i < tensors.length; i++) {
    const other = tensors[i].shape;
    if (other.length !== first.length) mismatch(backend, `shapes [${first}] and [${other}] have different ranks`);
    for (let j = 0; j < first.length; j++) {
      if (j !== axis && other[j] !== first[j])
        mismatch(backend, `shapes [${first}] and [${other}] differ off axis ${axis}`);
    }
    shape[axis] += other[axis];
    if (sizeOf(other) === 0) continue;
    filled ??= tensors[i];
    filledCount++;
  }
  if (filledCount === 1 && filled !== undefined && backend.standsFor !== "tensorflow")
    return identity({ x: filled } as never, undefined as never, backend);
  return backend.make(shape, (filled ?? tensors[0]).dtype === "complex64" ? "complex64" : tensors[0].dtype);
};

const pack: Infer<TensorInfo[], { axis: number }> = (tensors, { axis }, backend) => {
  const { shape, dtype } = tensors[0];
  if (tensors.length === 1 && backend.standsFor !== "tensorflow") {
    return expandDims({ input: tensors[0] } as never, { dim: axis } as never, backend);
  }
  for (let i = 1; i < tensors.length; i++) {
    if (!sameShape(tensors[i].shape, shape)) mismatch(backend, `shapes [${shape}] and [${tensors[i].shape}] differ`);
    if (tensors[i].dtype !== dtype) mismatch(backend, `dtypes ${dtype} and ${tensors[i].dtype} differ`);
  }
  const packed = shape.slice();
  packed.splice(axisOf(axis, shape.length + 1, backend), 0, tensors.length);
  return backend.make(packed, dtype);
};

const unpack: Infer<{ value: TensorInfo }, { axis: number }> = ({ value }, attributes, backend) => {
  const axis = axisOf(attributes.axis, value.shape.length, backend);
  if (value.shape[axis] > 0) refuseComplex(backend, value);
  const shape = value.shape.slice();
  shape.splice(axis, 1);
  const out = new Array<TensorInfo>(value.shape[axis]);
  for (let i = 0; i < out.length; i++) out[i] = backend.make(shape, value.dtype);
  return out;
};

const splitV: Infer<X, { numOrSizeSplits: number | number[]; axis: number }> = (
  { x },
  { numOrSizeSplits: split, axis: along },
  backend,
) => {
  refuseComplex(backend, x);
  const axis = axisOf(along, x.shape.length, backend);
  const length = x.shape[axis];
  const count = typeof split === "number" ? split : split.length;
  const out = new Array<TensorInfo>(count);
  let known = 0;
  let unknown = 0;
  for (const size of typeof split === "number" ? [] : split) {
    if (size === -1) unknown++;
    else known += size;
  }
  const fits =
    typeof split === "number"
      ? length % split === 0
      : unknown === 0
        ? known === length
        : unknown === 1 && known <= length;
  if (!fits) mismatch(backend, `${length} elements along axis ${axis} do not split into ${split}`);
  for (let i = 0; i < count; i++) {
    const shape = x.shape.slice();
    if (typeof split === "number") shape[axis] = length / split;
    else shape[axis] = split[i] === -1 ? length - known : split[i];
    out[i] = backend.make(shape, x.dtype);
  }
  return out;
};

const reverse: Infer<X, { dims: number | number[] }> = ({ x }, { dims }, backend) => {
  refuseComplex(backend, x);
  const rank = x.shape.length;
  if (rank === 0 && backend.standsFor !== "tensorflow") return identity({ x } as never, undefined as never, backend);
  for (const dim of typeof dims === "number" ? [dims] : dims) axisOf(dim, rank, backend);
  return backend.make(x.shape, x.dtype);
};

const broadcastArgs: Infer<{ s0: TensorInfo; s1: TensorInfo }> = ({ s0, s1 }, _, backend) =>
  backend.make([Math.max(s0.shape[0], s1.shape[0])], "int32");

/** Kernels that rearrange whole tensors. */
export const arrayKernels: InferTable = {
  BroadcastArgs: broadcastArgs,
  Cast: cast,
  Concat: concat,
  ExpandDims: expandDims,
  Identity: identity,
  Pack: pack,
  Reshape: reshape,
  Reverse: reverse,
  SplitV: splitV,
  Transpose: transpose,
  Unpack: unpack,
};
