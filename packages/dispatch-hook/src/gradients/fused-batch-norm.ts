import { add, backend_util, mul, reshape, rsqrt, scalar, sub, sum, type Tensor } from "@tensorflow/tfjs-core";
import type { ReplacedGradient } from "./replaced-gradient.js";

/**
 * TensorFlow.js tiles the vector `1 / sqrt(variance + epsilon)` to the size of the input, and multiplies dy by it. Here
 * the product broadcasts instead. The same numbers are multiplied in the same order, so results are bitwise identical
 * on every backend, and one tensor of the input's size less is needed.
 *
 * TensorFlow.js's own gradient runs for a single channel: TensorFlow multiplies by one number in another way, and if
 * both factors are NaN it may keep the sign of the other one. It also runs for statistics of a higher rank, which
 * TensorFlow.js does not tile. All other kernels are the same as in TensorFlow.js.
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
