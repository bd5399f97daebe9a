import { add, backend_util, mul, reshape, rsqrt, scalar, sub, sum, type Tensor } from "@tensorflow/tfjs-core";
import type { ReplacedGradient } from "./replaced-gradient.js";

/**
 * tfjs tiles `1 / sqrt(variance + epsilon)`, a vector, to the size of the input to multiply dy by it. Here the product broadcasts: the same numbers are multiplied in the
 * same order, so the bits are equal on every backend, and there is one tensor of the input's size less. A single channel is tfjs's own: by one number TensorFlow multiplies in another way,
 * where of two values that are not numbers it may keep the other's sign. All else is as in tfjs, kernel by kernel; the gradient for
 * statistics of a higher rank, which it does not tile, is its own.
 *
 * @internal
 */
export const fusedBatchNormGradient: ReplacedGradient = {
  kernel: "FusedBatchNorm",
  isDifferentiable: false,
  isWanted: ({ fasterGradients }) => fasterGradients !== undefined,
  gradient(dy, [x, mean, variance, scale], attributes) {
    if (mean.rank !== 1 || mean.size === 1 || x.rank !== 4) return undefined;
    const axes = backend_util.getReductionAxes(mean.shape, x.shape);
    const scaleValue = scale ?? scalar(1);
    const xMinusMean = sub(x, mean);
    const dyTimesScale = mul(dy, scaleValue);
    const inverse = rsqrt(add(variance, scalar(attributes?.["varianceEpsilon"] as number)));
    const minusHalfCube = mul(mul(mul(inverse, inverse), inverse), scalar(-0.5));
    const total = (product: Tensor): Tensor => reshape(sum(product, axes), mean.shape);
    return {
      x: () => reshape(mul(mul(dy, reshape(inverse, [1, 1, 1, mean.size])), scaleValue), x.shape),
      mean: () => total(mul(mul(inverse, scalar(-1)), dyTimesScale)),
      variance: () => total(mul(mul(minusHalfCube, xMinusMean), dyTimesScale)),
      scale: () => total(mul(dy, mul(xMinusMean, inverse))),
      offset: () => total(dy),
    };
  },
};
