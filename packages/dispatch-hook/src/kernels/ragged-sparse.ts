import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable } from "./infer.js";
import { mismatch } from "./shapes.js";

const dependsOnData: Infer = (_, __, call) => call.dependsOnData();

const sparseReshape: Infer<{ inputIndices: TensorInfo; inputShape: TensorInfo; newShape: TensorInfo }> = (
  inputs,
  _,
  call,
) => {
  const { inputIndices, inputShape, newShape } = inputs;
  if (inputIndices.shape.length !== 2 || inputShape.shape.length !== 1 || newShape.shape.length !== 1) {
    mismatch(
      call,
      `ranks of [${inputIndices.shape}], [${inputShape.shape}] and [${newShape.shape}] must be 2, 1 and 1`,
    );
  }
  const rank = newShape.shape[0];
  return [call.make([inputIndices.shape[0], rank], inputIndices.dtype), call.make([rank], newShape.dtype)];
};

interface SegmentInputs {
  readonly data: TensorInfo;
  readonly indices: TensorInfo;
  readonly segmentIds: TensorInfo;
}

/** The number of rows follows from the last segment id, which is known if it is a constant. */
const sparseSegment: Infer<SegmentInputs> = ({ data, indices, segmentIds }, _, call) => {
  if (
    data.shape.length < 1 ||
    indices.shape.length !== 1 ||
    segmentIds.shape.length !== 1 ||
    indices.shape[0] !== segmentIds.shape[0]
  ) {
    mismatch(call, `data [${data.shape}], indices [${indices.shape}] and segment ids [${segmentIds.shape}] do not fit`);
  }
  const count = segmentIds.shape[0];
  const ids = call.constant(segmentIds);
  if (ids === undefined && count > 0) call.dependsOnData();
  const rows = count === 0 ? 0 : Number(ids?.[count - 1]) + 1;
  if (rows < 0) mismatch(call, "segment ids are negative");
  return call.make([rows, ...data.shape.slice(1)], data.dtype);
};

/** Kernels on ragged and sparse tensors. */
export const raggedSparseKernels: InferTable = {
  RaggedGather: dependsOnData,
  RaggedRange: dependsOnData,
  RaggedTensorToTensor: dependsOnData,
  SparseFillEmptyRows: dependsOnData,
  SparseReshape: sparseReshape,
  SparseSegmentMean: sparseSegment,
  SparseSegmentSum: sparseSegment,
};
