import type { DataEntry } from "@remat/backends";
import { RematError } from "@remat/trace";
import type { DataId } from "@tensorflow/tfjs-core";

/** What the backends keep per `DataId`, as far as its data goes: arrays on cpu, a handle of TensorFlow's on native, a place in the heap on wasm. */
interface Contents extends DataEntry {
  values?: ArrayLike<unknown> | null | undefined;
  /** On native and wasm: what the kernels know it by. */
  id?: number;
  /** On wasm. */
  memoryOffset?: number | null;
  refCount: number;
}

interface NativeBackend {
  readonly binding: { deleteTensor(id: number): void };
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

/** For none. */
const noHandle = { tensorflow: -1, wasm: 0 };

const isInWasm = ({ memoryOffset }: Contents): boolean => memoryOffset !== undefined;

/** The data goes, the entry with its counted references stays: no tensor on it, and no count of the engine's, changes. @internal */
export function releaseContents(entry: DataEntry, backend: object): void {
  const contents = entry as Contents;
  contents.values = undefined;
  if (isInWasm(contents)) releaseInWasm(contents, backend as WasmBackend);
  else if (contents.id !== undefined && contents.id !== noHandle.tensorflow) {
    (backend as NativeBackend).binding.deleteTensor(contents.id);
    contents.id = noHandle.tensorflow;
  }
}

/** As `disposeData` does, which may be called for the rest later: then it finds nothing, since the heap is never given out at 0. */
function releaseInWasm(contents: Contents, { wasm }: WasmBackend): void {
  const { id = noHandle.wasm, memoryOffset } = contents;
  if (memoryOffset == null) return;
  wasm._free(memoryOffset);
  wasm.tfjs.disposeData(id);
  contents.memoryOffset = null;
  contents.id = noHandle.wasm;
}

/** The values, as far as JavaScript can reach them: without a copy, so only for now. @internal */
export function valuesIn(dataId: DataId, entry: DataEntry, backend: object): ArrayLike<unknown> | null | undefined {
  const { shape, dtype, values, memoryOffset } = entry as Contents;
  if (memoryOffset == null) return values;
  return (backend as WasmBackend).typedArrayFromHeap({ shape: shape ?? [], dtype: String(dtype), dataId });
}

/** The data is `values` again. @internal */
export function restoreContents(entry: DataEntry, values: ArrayLike<unknown>, backend: object): void {
  const contents = entry as Contents;
  if (!isInWasm(contents)) {
    contents.values = values;
    return;
  }
  const { wasm } = backend as WasmBackend;
  const { buffer, byteOffset, byteLength } = values as Float32Array;
  const address = wasm._malloc(byteLength) >>> 0;
  contents.memoryOffset = address;
  contents.id = (backend as WasmBackend).dataIdNextNumber++;
  wasm.tfjs.registerTensor(contents.id, values.length, address);
  wasm.HEAPU8.set(new Uint8Array(buffer, byteOffset, byteLength), address);
}

/** The data of `from` becomes that of `to`, and `from` has none. @internal */
export function moveContents(from: DataEntry, to: DataEntry): void {
  const source = from as Contents;
  const target = to as Contents;
  target.values = source.values;
  source.values = undefined;
  if (source.id === undefined) return;
  target.id = source.id;
  source.id = isInWasm(source) ? noHandle.wasm : noHandle.tensorflow;
  if (!isInWasm(source)) return;
  target.memoryOffset = source.memoryOffset ?? null;
  source.memoryOffset = null;
}

/** @internal */
export const referencesTo = (entry: DataEntry): number => (entry as Contents).refCount;

/** @internal */
export const addReference = (entry: DataEntry): void => {
  (entry as Contents).refCount++;
};

/** @internal */
export function entryMissing(dataId: DataId): RematError {
  return new RematError(
    "DATA_UNKNOWN",
    `no backend keeps the data ${JSON.stringify(dataId)}; expected that of a living tensor`,
  );
}
