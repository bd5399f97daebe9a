import { bytesPerElement } from "@remat/trace";

/** The properties of a tensor on which the cost of an op that reads or creates it depends. */
export interface TensorType {
  /** Name of the dtype in TensorFlow.js or PyTorch: `float32`, `bfloat16`, `int64`. */
  readonly dtype: string;
  /** Sizes of the dimensions. */
  readonly shape: readonly number[];
  /**
   * Strides in elements. Default: contiguous. Only a stride of 0 matters: a dimension with stride 0 is one element in
   * memory.
   */
  readonly strides?: readonly number[] | undefined;
}

/**
 * One call of an op, as the cost formulas need it, without tensors, device or framework.
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
  /** TensorFlow.js kernel name, or `aten.addmm.default`. */
  readonly name: string;
  /** Tensors read, in argument order. A tensor that is passed twice appears twice. */
  readonly inputs: readonly TensorType[];
  /** Tensors made. */
  readonly outputs: readonly TensorType[];
  /** TensorFlow.js: the kernel's attributes. PyTorch: `{ args, kwargs }`, where `"%2"` is the third of `inputs`. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** True if the outputs share the inputs' storages, so that no data moves. */
  readonly view?: boolean | undefined;
}

/** Cost of an op: FLOPs, and bytes moved from and to memory. A fused multiply-add counts as two FLOPs. */
export interface OpCost {
  /** Number of FLOPs. */
  readonly flops: number;
  /** Bytes read from memory. */
  readonly bytesRead: number;
  /** Bytes written to memory. */
  readonly bytesWritten: number;
  /**
   * The dtype whose peak throughput bounds the op: the dtype of the first floating-point output, otherwise of the first
   * floating-point input, otherwise `float32`.
   */
  readonly dtype: string;
}

/** How costs of ops are counted. */
export interface CostOptions {
  /**
   * True to estimate ops exactly as PyTorch's `RuntimeEstimator` does: with half of their FLOPs, and without the FLOPs
   * of ops that have no formula in `torch.utils.flop_counter`. Default: false.
   */
  readonly asPytorch?: boolean | undefined;
}

/** The cost of an op that neither computes nor moves data. */
export const freeOp: OpCost = { flops: 0, bytesRead: 0, bytesWritten: 0, dtype: "float32" };

const floatDtypes: ReadonlySet<string> = new Set(["float16", "bfloat16", "float32", "float64"]);

/** Returns the bytes of memory that `tensor` spans. An expanded dimension (stride 0) counts once. */
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

/** Returns the dtype whose peak throughput bounds `call`. See {@link OpCost.dtype}. */
export function computeDtype(call: OpCall): string {
  const isFloat = (tensor: TensorType) => floatDtypes.has(tensor.dtype);
  return (call.outputs.find(isFloat) ?? call.inputs.find(isFloat))?.dtype ?? "float32";
}
