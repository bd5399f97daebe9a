import { type CategoryName, categoryNames, type Trace } from "@remat/trace";
import type { HeldStorages } from "./held-storages.js";
import { storageUses } from "./storage-uses.js";

/** What is held at a peak though no op reads it any more: what to free it earlier would give for nothing. Bytes as allocated. */
export interface IdleMemory {
  readonly bytes: number;
  /** Categories that hold some of it. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  readonly storageCount: number;
}

/**
 * Returns what is held at the peak of a step that was used for the last time before, and is freed later on in the trace; what the step leaves behind is not of it.
 *
 * @param held all that is held at the peak
 * @example
 * idleAtPeak(trace, storagesAtPeak(trace, heldPeak(trace))).bytes / heldPeak(trace).peakBytes; // 0.46: stock holds activations' gradients to the end of the pass
 */
export function idleAtPeak(trace: Trace, held: HeldStorages): IdleMemory {
  const { lastOp, freedBefore } = storageUses(trace);
  const byCategory = new Float64Array(categoryNames.length);
  let storageCount = 0;
  for (let i = 0; i < held.count; i++) {
    const storage = held.storage[i];
    // An op that is over at the peak may still be the one that has read it last.
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
