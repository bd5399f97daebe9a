import type { Residency } from "../backend.js";
import type { DataEntry } from "../data-entry.js";

/**
 * An entry whose data is in JavaScript until a program reads it, and in a buffer afterwards. Once it was read back, it
 * is in both.
 */
interface BufferEntry extends DataEntry {
  resource?: object | null;
  external?: boolean;
}

interface BufferOwner {
  /** Returns a buffer to the manager. Queued kernels run before its next use. */
  releaseResource(dataId: object): void;
}

/** The residency of data in WebGPU buffers. */
export const webgpuResidency: Residency = {
  release(entry, instance, dataId) {
    (instance as BufferOwner).releaseResource(dataId);
    entry.values = null;
  },
  move(from, to) {
    const source = from as BufferEntry;
    const { resource, external, values } = source;
    Object.assign(to, { resource, external, values });
    Object.assign(source, { resource: null, values: null });
  },
  valuesOf: ({ values }) => values,
  restore(entry, values) {
    Object.assign(entry, { values, resource: null });
  },
};
