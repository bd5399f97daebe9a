import * as tfCore from "@tensorflow/tfjs-core";

type Op = (this: tfCore.Tensor, ...args: never[]) => unknown;
type Shape = number[];

/**
 * Ops that a tensor has as a method of the same name and arguments. Source: tfjs-core's `public/chained_ops`, which
 * only `@tensorflow/tfjs` loads.
 */
const sameName =
  "abs acos acosh add all any argMax argMin asin asinh atan atan2 atanh avgPool batchNorm batchToSpaceND broadcastTo cast ceil clipByValue conv1d conv2d conv2dTranspose cos cosh cumprod " +
  "cumsum depthToSpace depthwiseConv2d dilation2d div divNoNan dot elu equal erf euclideanNorm exp expandDims expm1 fft floor floorDiv gather greater greaterEqual ifft irfft isFinite " +
  "isInf isNaN leakyRelu less lessEqual localResponseNormalization log log1p logSigmoid logSoftmax logSumExp logicalAnd logicalNot logicalOr logicalXor matMul max maxPool maximum mean " +
  "min minimum mirrorPad mod mul neg norm notEqual oneHot onesLike pad pool pow prelu prod reciprocal relu relu6 reshape resizeBilinear resizeNearestNeighbor reverse rfft round rsqrt " +
  "selu separableConv2d sigmoid sign sin sinh slice softmax softplus spaceToBatchND split sqrt square squaredDifference squeeze step stridedSlice sub sum tan tanh tile topk transpose " +
  "unique unsortedSegmentSum unstack zerosLike";

const listOf = (x: tfCore.Tensor | tfCore.Tensor[]): tfCore.Tensor[] => (x instanceof tfCore.Tensor ? [x] : x);
const reshape = (rank: number): Op =>
  function (...sizes: Shape) {
    return tfCore.reshape(this, sizes.slice(0, rank));
  };
const castTo = (dtype: tfCore.DataType): Op =>
  function () {
    return tfCore.cast(this, dtype);
  };
const flatten: Op = function () {
  return tfCore.reshape(this, [this.size]);
};

const others: Readonly<Record<string, Op>> = {
  as1D: flatten,
  as2D: reshape(2),
  as3D: reshape(3),
  as4D: reshape(4),
  as5D: reshape(5),
  asScalar() {
    if (this.size !== 1) throw new Error("The array must have only 1 element.");
    return tfCore.reshape(this, []);
  },
  asType(dtype: tfCore.DataType) {
    return tfCore.cast(this, dtype);
  },
  concat(x: tfCore.Tensor | tfCore.Tensor[], axis?: number) {
    return tfCore.concat([this, ...listOf(x)], axis);
  },
  flatten,
  reshapeAs(x: tfCore.Tensor) {
    return tfCore.reshape(this, x.shape);
  },
  stack(x: tfCore.Tensor | tfCore.Tensor[], axis?: number) {
    return tfCore.stack([this, ...listOf(x)], axis);
  },
  toBool: castTo("bool"),
  toFloat: castTo("float32"),
  toInt: castTo("int32"),
  where(condition: tfCore.Tensor, x: tfCore.Tensor) {
    return tfCore.where(condition, this, x);
  },
};

let areAdded = false;

/**
 * Gives tensors the methods of `@tensorflow/tfjs` (`x.matMul(w)`) that they lack. Model code that receives `tf` relies
 * on them, and so do initializers of tfjs-layers (`orthogonal`).
 */
export function addChainedOps(): void {
  if (areAdded) return;
  areAdded = true;
  const prototype = tfCore.Tensor.prototype as unknown as Record<string, Op | undefined>;
  const ops = { ...tfCore.image, ...tfCore } as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>;
  const add = (name: string, method: Op): void => {
    prototype[name] ??= function (...args) {
      (this as unknown as { throwIfDisposed(): void }).throwIfDisposed();
      return method.apply(this, args);
    };
  };
  for (const name of sameName.split(" "))
    add(name, function (...args: unknown[]) {
      return ops[name](this, ...args);
    } as Op);
  for (const name of Object.keys(others)) add(name, others[name]);
}
