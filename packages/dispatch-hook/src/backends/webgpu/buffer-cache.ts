import type { FreedMemory } from "../backend.js";

interface GpuBuffer {
  readonly size: number;
  destroy(): void;
}

/** The part of TensorFlow.js's `BufferManager` that is needed to empty it. */
interface BufferManager {
  numFreeBuffers: number;
  numBytesAllocated: number;
  readonly numBytesUsed: number;
  /** Free buffers by size and usage. */
  readonly freeBuffers: ReadonlyMap<string, GpuBuffer[]>;
}

interface BufferOwner {
  readonly bufferManager: BufferManager;
  readonly commandEncoder: object | null;
  readonly tensorDataPendingDisposal: readonly object[];
  endComputePassEncoder(): void;
  submitQueue(): void;
}

function submit(instance: object): void {
  const owner = instance as BufferOwner;
  if (owner.commandEncoder === null) return;
  owner.endComputePassEncoder();
  owner.submitQueue();
}

const managerOf = (instance: object): BufferManager => (instance as BufferOwner).bufferManager;

/**
 * Free buffers that TensorFlow.js keeps for later ones of the same size, and buffers that wait until queued kernels are
 * submitted.
 */
export const bufferCache: FreedMemory = {
  allocatedBytes: (instance) => managerOf(instance).numBytesAllocated,
  keptBytes(instance) {
    const { numBytesAllocated, numBytesUsed } = managerOf(instance);
    return numBytesAllocated - numBytesUsed;
  },
  settle(instance) {
    if ((instance as BufferOwner).tensorDataPendingDisposal.length > 0) submit(instance);
  },
  /** Buffers that queued kernels read must not be destroyed before submission. */
  trim(instance, keptBytes) {
    submit(instance);
    const manager = managerOf(instance);
    for (const buffers of manager.freeBuffers.values())
      while (manager.numBytesAllocated - manager.numBytesUsed > keptBytes) {
        const buffer = buffers.pop();
        if (buffer === undefined) break;
        buffer.destroy();
        manager.numFreeBuffers--;
        manager.numBytesAllocated -= buffer.size;
      }
  },
};
