import type { KernelAttributes } from "@remat/dispatch-hook";
import type { DataId, DataType, Tensor } from "@tensorflow/tfjs-core";

/** An op of a checkpointed block, as a policy sees it when the block is over. */
export interface CheckpointedOp {
  /** tfjs kernel name: `_FusedMatMul`, `Conv2D`. */
  readonly kernel: string;
  readonly attributes: KernelAttributes | undefined;
  readonly outputs: readonly { readonly shape: readonly number[]; readonly dtype: DataType; readonly bytes: number }[];
  /** Names that `named` gave to what it made. */
  readonly names: ReadonlySet<string>;
}

/** Says of each op of a block whether what it makes is saved. What is not is recomputed in the backward pass. */
export type SavePolicy = (op: CheckpointedOp) => boolean;

/** Saves nothing inside a block: the least memory, and at most one more forward pass of it. As `torch.utils.checkpoint` without a policy. */
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

/** Saves what matrix products and convolutions make, and recomputes the rest, which is cheap. As JAX's `dots_saveable`. */
export const saveMatmuls: SavePolicy = ({ kernel }) => products.has(kernel);

/**
 * Saves what `named` gave one of these names. As JAX's `save_only_these_names`.
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
 * Names a tensor for `saveNamed`, and returns it. As JAX's `checkpoint_name`.
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

/** @internal */
export const namesOf = (dataId: DataId): ReadonlySet<string> => namesOfData.get(dataId) ?? noNames;
