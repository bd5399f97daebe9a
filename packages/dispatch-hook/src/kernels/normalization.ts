import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch, refuseComplex } from "./shapes.js";

interface BatchNormInputs extends X {
  readonly mean: TensorInfo;
  readonly variance: TensorInfo;
  readonly scale?: TensorInfo;
  readonly offset?: TensorInfo;
}

const fusedBatchNorm: Infer<BatchNormInputs> = ({ x, mean, variance, scale, offset }, _, call) => {
  refuseComplex(call, x);
  const rank = mean.shape.length;
  // The native backend composes this kernel of kernels that broadcast, unless there is one value per channel.
  if (call.traits.batchNormBroadcasts && rank > 1) return call.make(x.shape, "float32");
  if (
    variance.shape.length !== rank ||
    (offset ?? mean).shape.length !== rank ||
    (scale ?? mean).shape.length !== rank
  ) {
    mismatch(call, "mean, variance, scale and offset must have the same rank");
  }
  return call.make(x.shape, x.dtype);
};

const localResponse: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, x.dtype);
};

const localResponseGrad: Infer<X & { y: TensorInfo; dy: TensorInfo }> = ({ x, dy }, _, call) => {
  refuseComplex(call, x);
  refuseComplex(call, dy);
  return call.make(dy.shape, x.dtype);
};

/** Normalization over channels. */
export const normalizationKernels: InferTable = {
  FusedBatchNorm: fusedBatchNorm,
  LRN: localResponse,
  LRNGrad: localResponseGrad,
};
