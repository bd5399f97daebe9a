import type { Trace } from "@remat/trace";
import { readMemoryEvents } from "./memory-events.js";

/** The last use and the release of each storage, in columns by storage. */
export interface StorageUses {
  /** The last op that reads or writes it, or -1 if none does. */
  readonly lastOp: Int32Array;
  /**
   * The next op after the storage is freed. It is the number of ops if none exists, and -1 if the storage is never
   * freed.
   */
  readonly freedBefore: Int32Array;
}

/**
 * Returns, for each storage, its last use and the moment when it is freed. Between the two, its memory is kept alive
 * without being used.
 *
 * @example
 * const { lastOp, freedBefore } = storageUses(trace);
 */
export function storageUses(trace: Trace): StorageUses {
  const { ops, storages } = trace;
  const lastOp = new Int32Array(storages.count).fill(-1);
  const freedBefore = new Int32Array(storages.count).fill(-1);
  for (let op = 0; op < ops.count; op++)
    for (const tensors of [trace.opInputs(op), trace.opOutputs(op)])
      for (const tensor of tensors) for (const storage of trace.tensorStorages(tensor)) lastOp[storage] = op;
  let next = 0;
  readMemoryEvents(trace, {
    op: (op) => void (next = op + 1),
    free: (storage) => void (freedBefore[storage] = next),
  });
  return { lastOp, freedBefore };
}
