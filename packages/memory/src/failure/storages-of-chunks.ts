import type { StorageIndex, Trace } from "@remat/trace";
import { HeldMemory, heldPeak } from "../held/held-memory.js";
import { makerOfStorage } from "../held/maker-of-storage.js";
import type { AllocatorKind, AllocatorLog } from "./allocator-log.js";

/** The chunks of one size in a log, and the storages of a trace with that size. */
export interface StoragesOfSize {
  /** The size of each chunk. */
  readonly bytes: number;
  /** The number of chunks of this size in use. */
  readonly chunks: number;
  /** The number of storages of this size that are alive at the peak of the trace. */
  readonly storages: number;
  /** The op of the largest group of these storages. */
  readonly op: string | undefined;
  /** The line of the largest group of these storages. */
  readonly line: string | undefined;
  /** The shape of the largest group of these storages. */
  readonly shape: readonly number[] | undefined;
  /** The dtype of the largest group of these storages. */
  readonly dtype: string | undefined;
}

/**
 * Returns the storages that are alive at the peak of a trace and have the sizes of chunks in use, sorted by total bytes
 * in descending order.
 */
export function storagesOfChunks({ kind, sizes }: AllocatorLog, trace: Trace): readonly StoragesOfSize[] {
  const unit = granularity(kind);
  const { event, device } = heldPeak(trace);
  const held = new HeldMemory();
  held.take(trace, event);
  const { storages } = held;
  const index = storages.devices.indexOf(device);
  const bySize = new Map<number, number[]>();
  for (let s = 0; s < trace.storages.count; s++) {
    if (!storages.isAlive(s) || storages.device[s] !== index || storages.bytes[s] === 0) continue;
    const size = Math.ceil(storages.bytes[s] / unit) * unit;
    const same = bySize.get(size);
    if (same === undefined) bySize.set(size, [s]);
    else same.push(s);
  }
  const tensors = firstTensorOfStorages(trace);
  return sizes
    .filter(({ inUse }) => inUse > 0)
    .sort((a, b) => b.bytes * b.inUse - a.bytes * a.inUse)
    .map(({ bytes, inUse }) => {
      const found = bySize.get(bytes) ?? [];
      return { bytes, chunks: inUse, storages: found.length, ...commonest(trace, found, storages.op, tensors) };
    });
}

/** Returns the unit to which an allocator rounds up sizes, in bytes. */
function granularity(kind: AllocatorKind): number {
  return kind === "bfc" ? 256 : 512;
}

function commonest(
  trace: Trace,
  storages: readonly StorageIndex[],
  opOfStorage: Int32Array,
  tensors: ReadonlyMap<number, number>,
): Pick<StoragesOfSize, "op" | "line" | "shape" | "dtype"> {
  const groups = new Map<string, { count: number; readonly storage: number; readonly op: number }>();
  for (const storage of storages) {
    const op = makerOfStorage(trace, storage, opOfStorage[storage]);
    const key = op < 0 ? "" : `${trace.opName(op)} ${trace.opLine(op)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { count: 1, storage, op });
    else group.count++;
  }
  const [most] = [...groups.values()].sort((a, b) => b.count - a.count);
  if (most === undefined) return { op: undefined, line: undefined, shape: undefined, dtype: undefined };
  const tensor = tensors.get(most.storage);
  return {
    op: most.op < 0 ? undefined : trace.opName(most.op),
    line: most.op < 0 ? undefined : trace.opLine(most.op),
    shape: tensor === undefined ? undefined : trace.tensorShape(tensor),
    dtype: tensor === undefined ? undefined : trace.tensorDtype(tensor),
  };
}

function firstTensorOfStorages(trace: Trace): ReadonlyMap<number, number> {
  const first = new Map<number, number>();
  for (let tensor = trace.tensors.count - 1; tensor >= 0; tensor--)
    for (const storage of trace.tensorStorages(tensor)) first.set(storage, tensor);
  return first;
}
