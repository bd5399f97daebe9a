import type { DataType, TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelCall } from "./kernel-call.js";
import { broadcast, mismatch } from "./shapes.js";

/** What follows a fused kernel's product. */
export interface FusedInputs {
  readonly bias?: TensorInfo;
  readonly preluActivationWeights?: TensorInfo;
}

export interface FusedAttributes {
  readonly activation?: string | null;
}

/** The product of a fused kernel, before bias and activation. */
export interface FusedProduct {
  readonly shape: number[];
  readonly dtype: DataType;
  /** Whether a vector of biases lies along channels that come first. */
  readonly isPerChannel?: boolean;
}

/** Adds the bias and the activation to the shape and dtype of a product. */
export function fuse(
  product: FusedProduct,
  { bias, preluActivationWeights: alpha }: FusedInputs,
  { activation }: FusedAttributes,
  call: KernelCall,
): TensorInfo {
  const { dtype, isPerChannel: perChannel = false } = product;
  let { shape } = product;
  if (bias != null) shape = broadcast(shape, perChannel ? alongChannels(bias.shape) : bias.shape, call);
  switch (activation) {
    case null:
    case undefined:
    case "linear":
    case "relu":
    case "elu":
    case "relu6":
    case "sigmoid":
      return call.make(shape, dtype);
    case "leakyrelu":
      return call.make(shape, "float32");
    case "prelu":
      if (alpha == null) mismatch(call, "prelu has no weights");
      return call.make(broadcast(shape, perChannel ? alongChannels(alpha.shape) : alpha.shape, call), "float32");
    default:
      return mismatch(call, `activation '${activation}' is not known`);
  }
}

/** With channels first, a vector lies along them. */
function alongChannels(shape: number[]): number[] {
  return shape.length === 1 && shape[0] !== 1 ? [shape[0], 1, 1] : shape;
}
