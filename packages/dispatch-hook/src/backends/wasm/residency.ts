import type { DataId } from "@tensorflow/tfjs-core";
import type { Residency } from "../backend.js";
import type { DataEntry } from "../data-entry.js";

/** An entry whose data is in the heap. */
interface HeapEntry extends DataEntry {
  /** Handle for kernels, or 0. */
  id: number;
  memoryOffset: number | null;
}

interface WasmBackend {
  readonly wasm: {
    readonly HEAPU8: Uint8Array;
    _malloc(bytes: number): number;
    _free(address: number): void;
    readonly tfjs: { registerTensor(id: number, size: number, address: number): void; disposeData(id: number): void };
  };
  dataIdNextNumber: number;
  typedArrayFromHeap(tensor: { shape: readonly number[]; dtype: string; dataId: DataId }): ArrayLike<unknown>;
}

const noHandle = 0;

/** The residency of data in the WebAssembly heap. */
export const wasmResidency: Residency = {
  /**
   * Does the same as `disposeData`, which may be called later for the rest. It then finds nothing, since address 0 is
   * never allocated.
   */
  release(entry, instance) {
    const heap = entry as HeapEntry;
    const { wasm } = instance as WasmBackend;
    if (heap.memoryOffset == null) return;
    wasm._free(heap.memoryOffset);
    wasm.tfjs.disposeData(heap.id);
    heap.memoryOffset = null;
    heap.id = noHandle;
  },
  move(from, to) {
    const source = from as HeapEntry;
    const target = to as HeapEntry;
    target.id = source.id;
    target.memoryOffset = source.memoryOffset ?? null;
    source.id = noHandle;
    source.memoryOffset = null;
  },
  valuesOf(entry, dataId, instance) {
    const { shape = [], dtype, memoryOffset } = entry as HeapEntry;
    if (memoryOffset == null) return undefined;
    return (instance as WasmBackend).typedArrayFromHeap({ shape, dtype: String(dtype), dataId });
  },
  restore(entry, values, instance) {
    const heap = entry as HeapEntry;
    const backend = instance as WasmBackend;
    const { buffer, byteOffset, byteLength } = values as Float32Array;
    const address = backend.wasm._malloc(byteLength) >>> 0;
    heap.memoryOffset = address;
    heap.id = backend.dataIdNextNumber++;
    backend.wasm.tfjs.registerTensor(heap.id, values.length, address);
    backend.wasm.HEAPU8.set(new Uint8Array(buffer, byteOffset, byteLength), address);
  },
};
