import type { DataType, TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelCall } from "./kernel-call.js";
import { broadcast, mismatch } from "./shapes.js";

/** Inputs of a fused kernel after its product. */
export interface FusedInputs {
  /** Bias to add to the product. */
  readonly bias?: TensorInfo;
  /** Weights of the activation `prelu`. */
  readonly preluActivationWeights?: TensorInfo;
}

/** Attributes of a fused kernel. */
export interface FusedAttributes {
  /** Name of the activation. */
  readonly activation?: string | null;
}

/** The product of a fused kernel, before bias and activation. */
export interface FusedProduct {
  readonly shape: number[];
  readonly dtype: DataType;
  /** True if channels come first and a vector of biases is applied along them. */
  readonly isPerChannel?: boolean;
}

/** Applies the bias and the activation to the shape and dtype of a product. */
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

/** With channels first, a vector is applied along the channels. */
function alongChannels(shape: number[]): number[] {
  return shape.length === 1 && shape[0] !== 1 ? [shape[0], 1, 1] : shape;
}
