import type { StorageIndex, Trace } from "@remat/trace";
import { readMemoryEvents } from "../held/memory-events.js";
import type { AllocatorSettings } from "./allocator-settings.js";
import type { Block } from "./block.js";
import { CachingAllocator } from "./caching-allocator.js";

/** Bytes allocated and reserved by PyTorch's caching allocator over a trace. */
export interface ReservedMemory {
  readonly device: string;
  /** Peak of the allocated bytes. */
  readonly allocatedPeakBytes: number;
  /** Peak of the reserved bytes. */
  readonly reservedPeakBytes: number;
  /** Allocated bytes after each op. */
  readonly allocatedBytes: Float64Array;
  /** Reserved bytes after each op. */
  readonly reservedBytes: Float64Array;
}

/**
 * Returns the memory that PyTorch's CUDA caching allocator would reserve for a trace, as reported by
 * `torch.cuda.memory_reserved`. Each storage is one allocation. For a trace recorded on another device, that device is
 * treated as a GPU.
 *
 * @param settings by default the allocator's default settings
 * @param device by default the device that the trace is about
 * @example
 * reservedMemory(trace, parseAllocatorSettings("expandable_segments:True")).reservedPeakBytes;
 */
export function reservedMemory(
  trace: Trace,
  settings?: AllocatorSettings,
  device: string = trace.header.device,
): ReservedMemory {
  const { storages, strings, ops } = trace;
  const allocator = new CachingAllocator(settings);
  const blocks = new Map<number, Block>();
  const allocatedBytes = new Float64Array(ops.count);
  const reservedBytes = new Float64Array(ops.count);
  const resize = (storage: StorageIndex, bytes: number): void => {
    if (strings[storages.device[storage]] !== device) return;
    const before = blocks.get(storage);
    blocks.delete(storage);
    // A growing storage is copied, so both sizes are allocated at once.
    if (bytes > 0) blocks.set(storage, allocator.malloc(bytes));
    if (before !== undefined) allocator.free(before);
  };
  readMemoryEvents(trace, {
    allocate: (storage) => resize(storage, storages.bytes[storage]),
    resize,
    free: (storage) => resize(storage, 0),
    op: (op) => {
      allocatedBytes[op] = allocator.allocatedBytes;
      reservedBytes[op] = allocator.reservedBytes;
    },
  });
  return {
    device,
    allocatedPeakBytes: allocator.peakAllocatedBytes,
    reservedPeakBytes: allocator.peakReservedBytes,
    allocatedBytes,
    reservedBytes,
  };
}
