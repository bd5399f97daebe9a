import type { Residency } from "../backend.js";
import type { DataEntry } from "../data-entry.js";

/** An entry whose data is in JavaScript until a kernel reads it, and in TensorFlow afterwards. */
interface NativeEntry extends DataEntry {
  /** TensorFlow's handle, or -1. */
  id: number;
}

interface NativeBackend {
  readonly binding: { deleteTensor(id: number): void };
}

const noHandle = -1;

/** The residency of data in TensorFlow. */
export const nativeResidency: Residency = {
  release(entry, instance) {
    const native = entry as NativeEntry;
    native.values = undefined;
    if (native.id === noHandle) return;
    (instance as NativeBackend).binding.deleteTensor(native.id);
    native.id = noHandle;
  },
  move(from, to) {
    const source = from as NativeEntry;
    const target = to as NativeEntry;
    target.values = source.values;
    target.id = source.id;
    source.values = undefined;
    source.id = noHandle;
  },
  valuesOf: ({ values }) => values,
  restore(entry, values) {
    entry.values = values;
  },
};
