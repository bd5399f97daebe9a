/** In what the kernels of backends differ, as far as shapes, dtypes and data ids go. A trait is so where it is true; `commonTraits` are those of most. */
export interface KernelTraits {
  /** `Identity` returns its input's data id. */
  readonly identityShares: boolean;
  /** `Reshape` and what is one return their input's data id. */
  readonly reshapeShares: boolean;
  /** `Cast` returns its input's data id where no precision is lost. */
  readonly castShares: boolean;
  /** Pooling with windows of one pixel returns its input's data id. */
  readonly unitPoolingShares: boolean;
  /** `Concat`, `Pack`, `Reverse` and `Einsum` return their only operand where nothing is to be done. */
  readonly returnsLoneOperand: boolean;
  /** A complex tensor is a pair of tensors; else it is one buffer. */
  readonly complexIsPair: boolean;
  /** All kernels take complex tensors; else all but a few refuse them. */
  readonly takesComplex: boolean;
  /** `_FusedMatMul`, `Pow` and `Einsum` make their operands of one dtype first. */
  readonly unifiesDtypes: boolean;
  /** `ClipByValue` makes integers of bools, as minimum and maximum do. */
  readonly clipsBoolsToIntegers: boolean;
  /** `FloorDiv` makes integers, whatever its operands are. */
  readonly floorDivMakesIntegers: boolean;
  /** `Softmax` takes any axis; else only the last. */
  readonly softmaxTakesAnyAxis: boolean;
  /** `UnsortedSegmentSum` makes its input's dtype; else float32. */
  readonly segmentSumKeepsDtype: boolean;
  /** `AvgPool` makes float32, whatever its input is. */
  readonly averagesInFloat32: boolean;
  /** `StridedSlice` makes float32 where it has to stride. */
  readonly stridesInFloat32: boolean;
  /** `StridedSlice` refuses a begin behind its end. */
  readonly checksSliceBounds: boolean;
  /** `FusedBatchNorm` broadcasts statistics of more than one axis. */
  readonly batchNormBroadcasts: boolean;
  /** Windows round down always, and a padding of 0 is `valid`. */
  readonly roundsWindowsDown: boolean;
  /** `ResizeBilinearGrad` returns width before height, so that the gradient of an image that is not square fails. */
  readonly resizeGradientSwapsAxes: boolean;
  /** `ResizeNearestNeighborGrad` makes the dtype of dy; else that of the images. */
  readonly resizeGradientKeepsDtypeOfDy: boolean;
  /** `Transform` forgets the wanted shape when there is no image. */
  readonly transformForgetsShape: boolean;
  /** `ZerosLike` takes strings, of which it makes empty ones. */
  readonly makesEmptyStrings: boolean;
  /** `DepthToSpace` takes channels first. */
  readonly takesChannelsFirst: boolean;
}

/** The traits of a backend whose kernels do as tfjs-core documents. A backend says in what it differs. */
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
