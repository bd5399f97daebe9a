import * as tfc from "@tensorflow/tfjs-core";

type Method = (this: tfc.Tensor, ...args: never[]) => unknown;

/** Functions of tfjs-core that are tensor methods with the same name. The tensor is their first argument. */
const sameName = (
  "abs acos acosh add all any argMax argMin asin asinh atan atan2 atanh avgPool batchToSpaceND batchNorm broadcastTo cast ceil " +
  "clipByValue conv1d conv2d conv2dTranspose cos cosh cumprod cumsum depthToSpace depthwiseConv2d dilation2d div divNoNan dot elu equal erf " +
  "euclideanNorm exp expandDims expm1 fft floor floorDiv gather greater greaterEqual ifft irfft isFinite isInf isNaN leakyRelu less lessEqual " +
  "localResponseNormalization log log1p logSigmoid logSoftmax logSumExp logicalAnd logicalNot logicalOr logicalXor matMul max maxPool maximum mean " +
  "min minimum mirrorPad mod mul neg norm notEqual oneHot onesLike pad pool pow prelu prod reciprocal relu relu6 reshape reverse rfft round rsqrt " +
  "selu separableConv2d sigmoid sign sin sinh slice softmax softplus spaceToBatchND split sqrt square squaredDifference squeeze step stridedSlice " +
  "sub sum tan tanh tile topk transpose unique unsortedSegmentSum unstack zerosLike"
).split(" ");

const reshaped: Method = function (...sizes) {
  return tfc.reshape(this, sizes);
};

const listed = (x: tfc.Tensor | tfc.Tensor[]): tfc.Tensor[] => (Array.isArray(x) ? x : [x]);

/** Methods without a function of the same name. */
const others: Readonly<Record<string, Method>> = {
  as2D: reshaped,
  as3D: reshaped,
  as4D: reshaped,
  as5D: reshaped,
  as1D() {
    return tfc.reshape(this, [this.size]);
  },
  asScalar() {
    return tfc.reshape(this, []);
  },
  asType(dtype: tfc.DataType) {
    return tfc.cast(this, dtype);
  },
  concat(x: tfc.Tensor | tfc.Tensor[], axis?: number) {
    return tfc.concat([this, ...listed(x)], axis);
  },
  flatten() {
    return tfc.reshape(this, [this.size]);
  },
  reshapeAs(x: tfc.Tensor) {
    return tfc.reshape(this, x.shape);
  },
  resizeBilinear(size: [number, number], ...rest: boolean[]) {
    return tfc.image.resizeBilinear(this as tfc.Tensor4D, size, ...rest);
  },
  resizeNearestNeighbor(size: [number, number], ...rest: boolean[]) {
    return tfc.image.resizeNearestNeighbor(this as tfc.Tensor4D, size, ...rest);
  },
  stack(x: tfc.Tensor | tfc.Tensor[], axis?: number) {
    return tfc.stack([this, ...listed(x)], axis);
  },
  toBool() {
    return tfc.cast(this, "bool");
  },
  toFloat() {
    return tfc.cast(this, "float32");
  },
  toInt() {
    return tfc.cast(this, "int32");
  },
  where(condition: tfc.Tensor, x: tfc.Tensor) {
    return tfc.where(condition, this, x);
  },
};

/**
 * Gives tensors the methods (`x.add(y)`, `x.flatten()`) that tfjs-layers calls and that only `@tensorflow/tfjs` adds.
 * Otherwise, with only tfjs-core and tfjs-layers loaded, an orthogonal initializer and so a recurrent layer fails.
 * Existing methods stay.
 */
export function provideTensorMethods(): void {
  const { prototype } = tfc.Tensor;
  const core = tfc as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>;
  const methods: Record<string, Method> = { ...others };
  for (const name of sameName) {
    const run = core[name];
    if (run !== undefined)
      methods[name] = function (...args) {
        return run(this, ...args);
      };
  }
  for (const [name, method] of Object.entries(methods)) {
    if (name in prototype) continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      enumerable: true,
      value(this: tfc.Tensor, ...args: never[]) {
        (this as unknown as { throwIfDisposed(): void }).throwIfDisposed();
        return method.apply(this, args);
      },
    });
  }
}
