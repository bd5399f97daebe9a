import type { OpIndex, StorageIndex, Trace } from "@remat/trace";
import { readMemoryEvents } from "./memory-events.js";

/**
 * Returns the op that created a storage, given the op that came next when it was allocated. Returns -1 if that op did
 * not create it, because it existed before or JavaScript created it. @internal
 */
export function makerOfStorage(trace: Trace, storage: StorageIndex, nextOp: OpIndex): number {
  if (nextOp >= trace.ops.count) return -1;
  for (const tensor of trace.opOutputs(nextOp)) if (trace.tensorStorages(tensor).includes(storage)) return nextOp;
  return -1;
}

/** Returns, for each storage, the op whose scratch memory it is, or -1. @internal */
export function scratchOps(trace: Trace): Int32Array {
  const { ops, storages } = trace;
  const scratchOf = new Int32Array(storages.count).fill(-1);
  const bornBefore = new Int32Array(storages.count).fill(-1);
  let next = 0;
  readMemoryEvents(trace, {
    op: (op) => (next = op + 1),
    allocate: (storage) => (bornBefore[storage] = next),
    free(storage) {
      if (bornBefore[storage] === next && next < ops.count) scratchOf[storage] = next;
    },
  });
  return scratchOf;
}
