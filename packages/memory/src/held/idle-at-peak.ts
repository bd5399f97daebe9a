import { type CategoryName, categoryNames, type Trace } from "@remat/trace";
import type { HeldStorages } from "./held-storages.js";
import { storageUses } from "./storage-uses.js";

/**
 * Memory that is alive at a peak although no op reads it any more. It could be freed earlier with no slowdown. Sizes
 * are rounded up to the allocation unit.
 */
export interface IdleMemory {
  /** Bytes of all idle storages. */
  readonly bytes: number;
  /** The categories that contain idle memory. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** The number of idle storages. */
  readonly storageCount: number;
}

/**
 * Returns the memory that is alive at the peak of a step, was used for the last time before it, and is freed after it.
 * Memory that the step leaves behind is not included.
 *
 * @param held all storages that are alive at the peak
 * @example
 * // 0.46: unmodified TensorFlow.js keeps gradients of activations to the end of the pass
 * idleAtPeak(trace, storagesAtPeak(trace, heldPeak(trace))).bytes / heldPeak(trace).peakBytes;
 */
export function idleAtPeak(trace: Trace, held: HeldStorages): IdleMemory {
  const { lastOp, freedBefore } = storageUses(trace);
  const byCategory = new Float64Array(categoryNames.length);
  let storageCount = 0;
  for (let i = 0; i < held.count; i++) {
    const storage = held.storage[i];
    // The op that ran last before the peak may be the last one to read it.
    if (lastOp[storage] < 0 || lastOp[storage] >= held.op || freedBefore[storage] < 0) continue;
    byCategory[held.category[i]] += held.bytes[i];
    storageCount++;
  }
  return {
    bytes: byCategory.reduce((sum, bytes) => sum + bytes, 0),
    bytesByCategory: Object.fromEntries(
      categoryNames.flatMap((name, c) => (byCategory[c] > 0 ? [[name, byCategory[c]]] : [])),
    ),
    storageCount,
  };
}
