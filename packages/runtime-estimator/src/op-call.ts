import { bytesPerElement } from "@remat/trace";

/** What an op's cost depends on of a tensor that it reads or makes. */
export interface TensorType {
  /** `float32`, `bfloat16`, `int64`: tfjs's or PyTorch's name. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** In elements; left out: contiguous. Only a stride of 0 matters: such a dimension is one element in memory. */
  readonly strides?: readonly number[] | undefined;
}

/**
 * One call of an op, as the cost formulas see it: no tensor, no device, no framework.
 *
 * @example
 * const call: OpCall = {
 *   name: "BatchMatMul",
 *   inputs: [{ dtype: "float32", shape: [1, 128, 64] }, { dtype: "float32", shape: [1, 64, 32] }],
 *   outputs: [{ dtype: "float32", shape: [1, 128, 32] }],
 *   attributes: { transposeA: false, transposeB: false },
 * };
 */
export interface OpCall {
  /** tfjs kernel name, or `aten.addmm.default`. */
  readonly name: string;
  /** Tensors read, in argument order; one that is passed twice stands twice. */
  readonly inputs: readonly TensorType[];
  readonly outputs: readonly TensorType[];
  /** tfjs: the kernel's attributes. PyTorch: `{ args, kwargs }`, where `"%2"` is the third of `inputs`. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** The outputs share the inputs' storages, so no data moves. */
  readonly view?: boolean | undefined;
}

/** FLOPs that the cost model counts and bytes moved to and from memory. A fused multiply-add is two FLOPs. */
export interface OpCost {
  readonly flops: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Whose peak throughput bounds the op: the first output of a floating dtype, else the first such input, else `float32`. */
  readonly dtype: string;
}

export const freeOp: OpCost = { flops: 0, bytesRead: 0, bytesWritten: 0, dtype: "float32" };

const floatDtypes: ReadonlySet<string> = new Set(["float16", "bfloat16", "float32", "float64"]);

/** Returns bytes of memory that `tensor` spans: an expanded dimension (stride 0) counts once. */
export function bytesOfTensor(tensor: TensorType): number {
  let elements = 1;
  const { shape, strides } = tensor;
  for (let i = 0; i < shape.length; i++) if (strides?.[i] !== 0) elements *= shape[i];
  return elements * (bytesPerElement(tensor.dtype) ?? 4);
}

export function sumBytes(tensors: readonly TensorType[]): number {
  let bytes = 0;
  for (const tensor of tensors) bytes += bytesOfTensor(tensor);
  return bytes;
}

/** Returns the dtype whose peak throughput bounds `call`; see {@link OpCost.dtype}. */
export function computeDtype(call: OpCall): string {
  const isFloat = (tensor: TensorType) => floatDtypes.has(tensor.dtype);
  return (call.outputs.find(isFloat) ?? call.inputs.find(isFloat))?.dtype ?? "float32";
}
