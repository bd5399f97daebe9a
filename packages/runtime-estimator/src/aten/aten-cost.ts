import { computeDtype, freeOp, type OpCall, type OpCost, sumBytes } from "../op-call.js";
import { atenFlops } from "./aten-flops.js";
import { atenPacket, freePackets } from "./free-packets.js";

/** Returns the cost of a dispatched ATen op: nothing for views and creation, else FLOPs by formula and all tensors in and out once. */
export function atenCost(call: OpCall): OpCost {
  if (freePackets.has(atenPacket(call.name) ?? "")) return freeOp;
  return {
    flops: atenFlops(call),
    bytesRead: sumBytes(call.inputs),
    bytesWritten: sumBytes(call.outputs),
    dtype: computeDtype(call),
  };
}
