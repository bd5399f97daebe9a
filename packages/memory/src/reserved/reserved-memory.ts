import type { StorageIndex, Trace } from "@remat/trace";
import { readMemoryEvents } from "../held/memory-events.js";
import type { AllocatorSettings } from "./allocator-settings.js";
import type { Block } from "./block.js";
import { CachingAllocator } from "./caching-allocator.js";

/** What PyTorch's caching allocator gives out and reserves over a trace, in bytes. */
export interface ReservedMemory {
  readonly device: string;
  readonly allocatedPeakBytes: number;
  readonly reservedPeakBytes: number;
  /** After each op. */
  readonly allocatedBytes: Float64Array;
  readonly reservedBytes: Float64Array;
}

/**
 * Returns what PyTorch's caching allocator of CUDA would reserve for what a trace holds, each storage one allocation, as `torch.cuda.memory_reserved` tells it. A trace recorded on another
 * device is taken as if its own were a GPU.
 *
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
    // What grows is copied, so both are there at once.
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
