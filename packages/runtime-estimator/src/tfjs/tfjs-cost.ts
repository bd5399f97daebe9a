import { computeDtype, freeOp, type OpCall, type OpCost, sumBytes } from "../op-call.js";

export function tfjsCost(call: OpCall): OpCost {
  if (call.view === true) return freeOp;
  return {
    flops: 0,
    bytesRead: sumBytes(call.inputs),
    bytesWritten: sumBytes(call.outputs),
    dtype: computeDtype(call),
  };
}
