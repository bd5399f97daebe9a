import { bytesOfTensor, computeDtype, freeOp, type OpCall, type OpCost, sumBytes } from "../op-call.js";
import { contractionFormulas } from "./contraction-flops.js";
import { dataMovement, elementwiseFlops } from "./elementwise-flops.js";
import type { KernelFormula } from "./kernel-formula.js";
import { reductionFlops } from "./reduction-flops.js";
import { windowFlops } from "./window-flops.js";

/** FLOP formulas by TensorFlow.js kernel name. @internal */
export const kernelFormulas: ReadonlyMap<string, KernelFormula> = new Map(
  Object.entries({ ...contractionFormulas, ...windowFlops, ...reductionFlops, ...elementwiseFlops, ...dataMovement }),
);

/** Kernels that only relabel a buffer, on every backend. */
const relabelling: ReadonlySet<string> = new Set(["Reshape", "ExpandDims"]);

/** Kernels that read at most as many bytes from their first input as they write. */
const partialReaders: ReadonlySet<string> = new Set(["GatherNd", "GatherV2", "Slice", "StridedSlice", "RaggedGather"]);

/** Kernels that need only their input's shape. */
const shapeReaders: ReadonlySet<string> = new Set(["OnesLike", "ZerosLike"]);

/**
 * Returns the cost of a TensorFlow.js kernel. Views are free. Other kernels get FLOPs by formula, read each input once
 * and write each output once. An unknown kernel is estimated by its bytes alone.
 */
export function tfjsCost(call: OpCall): OpCost {
  if (call.view === true || relabelling.has(call.name)) return freeOp;
  return {
    flops: kernelFormulas.get(call.name)?.(call) ?? 0,
    bytesRead: bytesRead(call),
    bytesWritten: sumBytes(call.outputs),
    dtype: computeDtype(call),
  };
}

function bytesRead(call: OpCall): number {
  if (shapeReaders.has(call.name)) return 0;
  const all = sumBytes(call.inputs);
  if (!partialReaders.has(call.name) || call.inputs.length === 0) return all;
  const source = bytesOfTensor(call.inputs[0]);
  return all - source + Math.min(source, sumBytes(call.outputs));
}
