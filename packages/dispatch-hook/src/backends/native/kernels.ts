import { commonTraits } from "../../kernels/kernel-traits.js";
import type { BackendKernels } from "../backend.js";
import { tensorflowScratch } from "./scratch.js";

const lacking = `BitwiseAnd DenseBincount Draw LogicalXor MaxPoolWithArgmax RaggedGather RaggedRange RaggedTensorToTensor RotateWithOffset
  SearchSorted SparseFillEmptyRows SparseReshape SparseSegmentMean SparseSegmentSum StringNGrams StringSplit StringToHashBucketFast
  Transform`;

/** The kernels of TensorFlow through tfjs-node or tfjs-node-gpu. */
export const tensorflowKernels: BackendKernels = {
  lacks: new Set(lacking.split(/\s+/)),
  traits: {
    ...commonTraits,
    reshapeShares: false,
    returnsLoneOperand: false,
    complexIsPair: false,
    takesComplex: true,
    unifiesDtypes: true,
    clipsBoolsToIntegers: true,
    softmaxTakesAnyAxis: true,
    segmentSumKeepsDtype: true,
    checksSliceBounds: false,
    batchNormBroadcasts: true,
    roundsWindowsDown: true,
    resizeGradientKeepsDtypeOfDy: true,
    makesEmptyStrings: true,
    takesChannelsFirst: true,
  },
  outputs: {},
  scratch: tensorflowScratch,
};
