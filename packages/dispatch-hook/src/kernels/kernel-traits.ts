/**
 * Differences between the kernels of backends in shapes, dtypes and data ids. `commonTraits` contains the most common
 * values.
 */
export interface KernelTraits {
  /** `Identity` returns its input's data id. */
  readonly identityShares: boolean;
  /** `Reshape` and equivalent kernels return their input's data id. */
  readonly reshapeShares: boolean;
  /** `Cast` returns its input's data id if no precision is lost. */
  readonly castShares: boolean;
  /** Pooling with windows of one pixel returns its input's data id. */
  readonly unitPoolingShares: boolean;
  /** `Concat`, `Pack`, `Reverse` and `Einsum` return their only operand if there is nothing to do. */
  readonly returnsLoneOperand: boolean;
  /** A complex tensor is a pair of tensors. Otherwise it is one buffer. */
  readonly complexIsPair: boolean;
  /** All kernels support complex tensors. Otherwise only a few do. */
  readonly takesComplex: boolean;
  /** `_FusedMatMul`, `Pow` and `Einsum` convert their operands to one dtype first. */
  readonly unifiesDtypes: boolean;
  /** `ClipByValue` returns integers for bools, like minimum and maximum. */
  readonly clipsBoolsToIntegers: boolean;
  /** `FloorDiv` returns integers for all operands. */
  readonly floorDivMakesIntegers: boolean;
  /** `Softmax` supports any axis. Otherwise only the last. */
  readonly softmaxTakesAnyAxis: boolean;
  /** `UnsortedSegmentSum` returns its input's dtype. Otherwise float32. */
  readonly segmentSumKeepsDtype: boolean;
  /** `AvgPool` returns float32 for any input. */
  readonly averagesInFloat32: boolean;
  /** `StridedSlice` returns float32 if it has strides. */
  readonly stridesInFloat32: boolean;
  /** `StridedSlice` rejects a begin after its end. */
  readonly checksSliceBounds: boolean;
  /** `FusedBatchNorm` broadcasts statistics with more than one axis. */
  readonly batchNormBroadcasts: boolean;
  /** Windows always round down, and a padding of 0 is `valid`. */
  readonly roundsWindowsDown: boolean;
  /** `ResizeBilinearGrad` returns width before height, so that the gradient of an image that is not square fails. */
  readonly resizeGradientSwapsAxes: boolean;
  /** `ResizeNearestNeighborGrad` returns the dtype of dy. Otherwise that of the images. */
  readonly resizeGradientKeepsDtypeOfDy: boolean;
  /** `Transform` ignores the requested shape if there are no images. */
  readonly transformForgetsShape: boolean;
  /** `ZerosLike` supports strings and returns empty ones. */
  readonly makesEmptyStrings: boolean;
  /** `DepthToSpace` supports channels first. */
  readonly takesChannelsFirst: boolean;
}

/** The traits of a backend that follows tfjs-core's documentation. A backend overrides those that differ. */
export const commonTraits: KernelTraits = {
  identityShares: true,
  reshapeShares: true,
  castShares: false,
  unitPoolingShares: false,
  returnsLoneOperand: true,
  complexIsPair: true,
  takesComplex: false,
  unifiesDtypes: false,
  clipsBoolsToIntegers: false,
  floorDivMakesIntegers: false,
  softmaxTakesAnyAxis: false,
  segmentSumKeepsDtype: false,
  averagesInFloat32: false,
  stridesInFloat32: false,
  checksSliceBounds: true,
  batchNormBroadcasts: false,
  roundsWindowsDown: false,
  resizeGradientSwapsAxes: false,
  resizeGradientKeepsDtypeOfDy: false,
  transformForgetsShape: false,
  makesEmptyStrings: false,
  takesChannelsFirst: false,
};
