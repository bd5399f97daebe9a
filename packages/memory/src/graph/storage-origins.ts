import { EventKind, type Rows, type StorageIndex, type TensorIndex, type Trace } from "@remat/trace";
import { roundUpBytes, unitBytesByName } from "../allocators/device-units.js";
import { RowsWriter } from "./rows-writer.js";

/** The origins of the storages of a trace, and their sizes. @internal */
export interface StorageOrigins {
  /**
   * The op that creates each storage, or the op before which it appears. If a storage appears after the last op, it is
   * the number of ops.
   */
  readonly birthOp: Int32Array;
  /**
   * Row k: storages that appear between ops k - 1 and k and are created by no op. Row 0 has the caller's storages, and
   * the last row has storages after all ops.
   */
  readonly sources: Rows;
  /** Row k: storages that op k allocates and frees itself. */
  readonly workspaces: Rows;
  /** Sizes in bytes, rounded up to the allocation unit. A resized storage has its largest size. */
  readonly bytes: Float64Array;
  /** 1 if the trace frees the storage. */
  readonly freed: Uint8Array;
  /** 1 if an op reads the storage. */
  readonly read: Uint8Array;
}

/**
 * Returns the origins of all storages.
 *
 * @param isSource returns whether a storage counts as created by no op, even if an op writes into it. Default: always
 * false
 * @internal
 */
export function originsOfStorages(trace: Trace, isSource?: (storage: StorageIndex) => boolean): StorageOrigins {
  const { storages, events } = trace;
  const bytes = storages.bytes.slice(0, storages.count);
  const freed = new Uint8Array(storages.count);
  const read = new Uint8Array(storages.count);
  const birthOp = new Int32Array(storages.count).fill(trace.ops.count);
  const madeBy = new Int32Array(storages.count).fill(-1);
  const rows = trace.ops.count + 1;
  const sources = new RowsWriter({ rows });
  const workspaces = new RowsWriter({ rows });
  // Storages that were allocated since the last op. The array is not emptied, because it would have to grow again.
  const pending: number[] = [];
  let pendingCount = 0;
  let op = -1;
  const onMade = (storage: StorageIndex) => {
    madeBy[storage] = op;
  };
  const onRead = (storage: StorageIndex) => {
    read[storage] = 1;
    // The op writes in place, so the storage existed before.
    if (madeBy[storage] === op) madeBy[storage] = -1;
  };
  for (let e = 0; e < events.count; e++) {
    const subject = events.subject[e];
    switch (events.kind[e]) {
      case EventKind.allocate:
        pending[pendingCount++] = subject;
        break;
      case EventKind.free:
        freed[subject] = 1;
        break;
      case EventKind.resize:
        bytes[subject] = Math.max(bytes[subject], events.value[e]);
        break;
      case EventKind.op:
        op = subject;
        forEachStorage(trace, trace.ops.outputs, op, onMade);
        forEachStorage(trace, trace.ops.inputs, op, onRead);
        for (let i = 0; i < pendingCount; i++) {
          const storage = pending[i];
          birthOp[storage] = op;
          // It is already freed and not an output, so it existed only inside the op.
          if (madeBy[storage] !== op || isSource?.(storage) === true)
            (freed[storage] === 1 ? workspaces : sources).push(storage);
        }
        pendingCount = 0;
        sources.endRow();
        workspaces.endRow();
        break;
    }
  }
  for (let i = 0; i < pendingCount; i++) sources.push(pending[i]);
  sources.endRow();
  const units = unitBytesByName(trace);
  for (let s = 0; s < storages.count; s++) bytes[s] = roundUpBytes(bytes[s], units[storages.device[s]]);
  return { birthOp, sources: sources.rows(), workspaces: workspaces.rows(), bytes, freed, read };
}

/** Visits the storages of the tensors in row `r` of an op's inputs or outputs. @internal */
export function forEachStorage(trace: Trace, rows: Rows, r: number, visit: (storage: StorageIndex) => void): void {
  const { start, values } = rows;
  const end = start[r + 1];
  for (let i = start[r]; i < end; i++) forEachStorageOf(trace, values[i], visit);
}

/** Visits the storages of a tensor. @internal */
export function forEachStorageOf(trace: Trace, tensor: TensorIndex, visit: (storage: StorageIndex) => void): void {
  const { storage, moreStorages } = trace.tensors;
  const several = moreStorages.size === 0 ? undefined : moreStorages.get(tensor);
  if (several === undefined) visit(storage[tensor]);
  else for (const one of several) visit(one);
}
