import type { Trace } from "@remat/trace";

/** Returns the op that made a storage, given the one that came next when it was allocated; -1 where that did not, as it was there, or JavaScript made it. @internal */
export function makerOfStorage(trace: Trace, storage: number, nextOp: number): number {
  if (nextOp >= trace.ops.count) return -1;
  for (const tensor of trace.opOutputs(nextOp)) if (trace.tensorStorages(tensor).includes(storage)) return nextOp;
  return -1;
}
