import type { Residency } from "../backend.js";
import type { DataEntry } from "../data-entry.js";

/** An entry whose data is JavaScript's until a program reads it, then in a buffer; once it was read, in both. */
interface BufferEntry extends DataEntry {
  resource?: object | null;
  external?: boolean;
}

interface BufferOwner {
  /** Gives a buffer back to the manager: kernels that are queued run before what uses it next. */
  releaseResource(dataId: object): void;
}

/** The residency of data in buffers of WebGPU. */
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
