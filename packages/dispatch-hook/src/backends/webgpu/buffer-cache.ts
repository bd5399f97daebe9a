import type { FreedMemory } from "../backend.js";

interface GpuBuffer {
  readonly size: number;
  destroy(): void;
}

/** As much of tfjs's `BufferManager` as is needed to empty it. */
interface BufferManager {
  numFreeBuffers: number;
  numBytesAllocated: number;
  readonly numBytesUsed: number;
  /** By size and usage. */
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

/** Buffers that nobody needs, which tfjs keeps for the next of the same size, and those that wait until the kernels that are queued are submitted. */
export const bufferCache: FreedMemory = {
  allocatedBytes: (instance) => managerOf(instance).numBytesAllocated,
  keptBytes(instance) {
    const { numBytesAllocated, numBytesUsed } = managerOf(instance);
    return numBytesAllocated - numBytesUsed;
  },
  settle(instance) {
    if ((instance as BufferOwner).tensorDataPendingDisposal.length > 0) submit(instance);
  },
  /** What queued kernels read must not be destroyed before they are submitted. */
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
