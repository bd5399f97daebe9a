import { type DataType, type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { axisOf, mismatch, refuseComplex, sameShape, sizeOf } from "./shapes.js";

/** Returns the same values under another shape, on the same data id if the backend does so. */
function reshaped(x: TensorInfo, shape: number[], call: KernelCall): TensorInfo {
  return call.traits.reshapeShares ? call.share(x, shape, x.dtype) : call.copy(x, shape, x.dtype);
}

const identity: Infer<X> = ({ x }, _, call) =>
  call.traits.identityShares ? call.share(x, x.shape, x.dtype) : call.copy(x, x.shape, x.dtype);

const reshape: Infer<X, { shape: number[] }> = ({ x }, { shape }, call) => {
  const size = sizeOf(x.shape);
  let known = 1;
  let open = -1;
  for (let i = 0; i < shape.length; i++) {
    if (shape[i] >= 0) known *= shape[i];
    else if (shape[i] === -1 && open < 0) open = i;
    else mismatch(call, `shape [${shape}] has two unknown dimensions or a negative one`);
  }
  if (open < 0 ? known !== size : known === 0 || size % known !== 0) {
    mismatch(call, `[${x.shape}] has ${size} elements, which do not fit [${shape}]`);
  }
  if (open < 0) return reshaped(x, shape, call);
  const full = shape.slice();
  full[open] = size / known;
  return reshaped(x, full, call);
};

const expandDims: Infer<{ input: TensorInfo }, { dim: number }> = ({ input }, { dim }, call) => {
  const rank = input.shape.length;
  if (dim < -(rank + 1)) mismatch(call, `dim ${dim} is not in [${-(rank + 1)}, ${rank}]`);
  const shape = input.shape.slice();
  shape.splice(dim < 0 ? rank + dim + 1 : dim, 0, 1);
  return reshaped(input, shape, call);
};

const cast: Infer<X, { dtype: DataType }> = ({ x }, { dtype }, call) => {
  const toOrFromComplex = x.dtype === "complex64" || dtype === "complex64";
  if (call.traits.castShares) {
    if (x.dtype === dtype && dtype === "complex64") return call.share(x, x.shape, dtype);
    if (!toOrFromComplex && !util.hasEncodingLoss(x.dtype, dtype)) return call.share(x, x.shape, dtype);
  }
  if (x.dtype === dtype) return call.copy(x, x.shape, dtype);
  if (x.dtype === "string" || dtype === "string") mismatch(call, `a ${x.dtype} tensor cannot become ${dtype}`);
  return call.make(x.shape, dtype);
};

const transpose: Infer<X, { perm: number[] }> = ({ x }, { perm }, call) => {
  refuseComplex(call, x);
  const rank = x.shape.length;
  const shape = new Array<number>(rank);
  for (let i = 0; i < rank; i++) shape[i] = x.shape[perm[i]];
  return call.make(shape, x.dtype);
};

const concat: Infer<TensorInfo[], { axis: number }> = (tensors, attributes, call) => {
  const first = tensors[0].shape;
  const axis = axisOf(attributes.axis, first.length, call);
  const shape = first.slice();
  let filled: TensorInfo | undefined = sizeOf(first) > 0 ? tensors[0] : undefined;
  let filledCount = filled === undefined ? 0 : 1;
  for (let i = 1; i < tensors.length; i++) {
    const other = tensors[i].shape;
    if (other.length !== first.length) mismatch(call, `shapes [${first}] and [${other}] have different ranks`);
    for (let j = 0; j < first.length; j++) {
      if (j !== axis && other[j] !== first[j])
        mismatch(call, `shapes [${first}] and [${other}] differ in a dimension other than axis ${axis}`);
    }
    shape[axis] += other[axis];
    if (sizeOf(other) === 0) continue;
    filled ??= tensors[i];
    filledCount++;
  }
  if (filledCount === 1 && filled !== undefined && call.traits.returnsLoneOperand)
    return identity({ x: filled } as never, undefined as never, call);
  return call.make(shape, (filled ?? tensors[0]).dtype === "complex64" ? "complex64" : tensors[0].dtype);
};

const pack: Infer<TensorInfo[], { axis: number }> = (tensors, { axis }, call) => {
  const { shape, dtype } = tensors[0];
  if (tensors.length === 1 && call.traits.returnsLoneOperand) {
    return expandDims({ input: tensors[0] } as never, { dim: axis } as never, call);
  }
  for (let i = 1; i < tensors.length; i++) {
    if (!sameShape(tensors[i].shape, shape)) mismatch(call, `shapes [${shape}] and [${tensors[i].shape}] differ`);
    if (tensors[i].dtype !== dtype) mismatch(call, `dtypes ${dtype} and ${tensors[i].dtype} differ`);
  }
  const packed = shape.slice();
  packed.splice(axisOf(axis, shape.length + 1, call), 0, tensors.length);
  return call.make(packed, dtype);
};

const unpack: Infer<{ value: TensorInfo }, { axis: number }> = ({ value }, attributes, call) => {
  const axis = axisOf(attributes.axis, value.shape.length, call);
  if (value.shape[axis] > 0) refuseComplex(call, value);
  const shape = value.shape.slice();
  shape.splice(axis, 1);
  const out = new Array<TensorInfo>(value.shape[axis]);
  for (let i = 0; i < out.length; i++) out[i] = call.make(shape, value.dtype);
  return out;
};

const splitV: Infer<X, { numOrSizeSplits: number | number[]; axis: number }> = (
  { x },
  { numOrSizeSplits: split, axis: along },
  call,
) => {
  refuseComplex(call, x);
  const axis = axisOf(along, x.shape.length, call);
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
  if (!fits) mismatch(call, `${length} elements along axis ${axis} do not split into ${split}`);
  for (let i = 0; i < count; i++) {
    const shape = x.shape.slice();
    if (typeof split === "number") shape[axis] = length / split;
    else shape[axis] = split[i] === -1 ? length - known : split[i];
    out[i] = call.make(shape, x.dtype);
  }
  return out;
};

const reverse: Infer<X, { dims?: number | number[] | null }> = ({ x }, { dims }, call) => {
  refuseComplex(call, x);
  const rank = x.shape.length;
  if (rank === 0 && call.traits.returnsLoneOperand) return identity({ x } as never, undefined as never, call);
  // No axes means all axes.
  for (const dim of typeof dims === "number" ? [dims] : (dims ?? [])) axisOf(dim, rank, call);
  return call.make(x.shape, x.dtype);
};

const broadcastArgs: Infer<{ s0: TensorInfo; s1: TensorInfo }> = ({ s0, s1 }, _, call) =>
  call.make([Math.max(s0.shape[0], s1.shape[0])], "int32");

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
