import type { KernelAttributes } from "@remat/dispatch-hook";
import type { DataId, DataType, Tensor } from "@tensorflow/tfjs-core";

/** An op of a checkpointed block, as a policy sees it when the block ends. */
export interface CheckpointedOp {
  /** TensorFlow.js kernel name, such as `_FusedMatMul` or `Conv2D`. */
  readonly kernel: string;
  /** Attributes of the kernel call. */
  readonly attributes: KernelAttributes | undefined;
  /** Shape, dtype and bytes of each output. */
  readonly outputs: readonly { readonly shape: readonly number[]; readonly dtype: DataType; readonly bytes: number }[];
  /** Names given to its outputs with `named`. */
  readonly names: ReadonlySet<string>;
}

/** Decides for each op of a block whether its outputs are saved. The backward pass recomputes the rest. */
export type SavePolicy = (op: CheckpointedOp) => boolean;

/**
 * Saves nothing inside a block. This needs the least memory and at most one more forward pass of the block. Corresponds
 * to `torch.utils.checkpoint` without a policy.
 */
export const saveNothing: SavePolicy = () => false;

const products: ReadonlySet<string> = new Set([
  "BatchMatMul",
  "_FusedMatMul",
  "Einsum",
  "Conv2D",
  "FusedConv2D",
  "DepthwiseConv2dNative",
  "FusedDepthwiseConv2D",
  "Conv2DBackpropInput",
  "Conv3D",
  "Conv3DBackpropInputV2",
]);

/**
 * Saves outputs of matrix products and convolutions, and recomputes the rest, which is cheap. Corresponds to JAX's
 * `dots_saveable`.
 */
export const saveMatmuls: SavePolicy = ({ kernel }) => products.has(kernel);

/**
 * Saves tensors that `named` gave one of these names. Corresponds to JAX's `save_only_these_names`.
 *
 * @example
 * const block = checkpoint((x) => attend(named("qkv", tf.matMul(x, w))), saveNamed("qkv"));
 */
export function saveNamed(...names: readonly string[]): SavePolicy {
  return (op) => names.some((name) => op.names.has(name));
}

const namesOfData = new WeakMap<DataId, Set<string>>();
const noNames: ReadonlySet<string> = new Set();

/**
 * Names a tensor for `saveNamed`, and returns it. Corresponds to JAX's `checkpoint_name`.
 *
 * @example
 * const qkv = named("qkv", tf.matMul(x, w));
 */
export function named<T extends Tensor>(name: string, tensor: T): T {
  const names = namesOfData.get(tensor.dataId);
  if (names === undefined) namesOfData.set(tensor.dataId, new Set([name]));
  else names.add(name);
  return tensor;
}

/** Returns the names given to the data. @internal */
export const namesOf = (dataId: DataId): ReadonlySet<string> => namesOfData.get(dataId) ?? noNames;
