import { type CostOptions, computeDtype, freeOp, type OpCall, type OpCost, sumBytes } from "../op-call.js";
import { atenFlops } from "./aten-flops.js";
import { atenPacket, freePackets } from "./free-packets.js";

/**
 * Returns the cost of a dispatched ATen op. Views and tensor creation are free. Other ops get FLOPs by formula, and
 * read or write each tensor once.
 */
export function atenCost(call: OpCall, options: CostOptions = {}): OpCost {
  if (freePackets.has(atenPacket(call.name) ?? "")) return freeOp;
  return {
    flops: atenFlops(call, options),
    bytesRead: sumBytes(call.inputs),
    bytesWritten: sumBytes(call.outputs),
    dtype: computeDtype(call),
  };
}
