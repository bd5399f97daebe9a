import { RematError } from "@remat/trace";
import type { DataId } from "@tensorflow/tfjs-core";
import type { DataEntry } from "../storage-bytes.js";

/** What the backends keep per `DataId`, as far as its data goes: arrays on cpu, a handle of TensorFlow's on native. */
interface Contents extends DataEntry {
  values?: ArrayLike<unknown> | null | undefined;
  /** On native; -1 for none. */
  id?: number;
  refCount: number;
}

interface NativeBackend {
  readonly binding: { deleteTensor(id: number): void };
}

const noHandle = -1;

/** The data goes, the entry with its counted references stays: no tensor on it, and no count of the engine's, changes. @internal */
export function releaseContents(entry: DataEntry, backend: object): void {
  const contents = entry as Contents;
  contents.values = undefined;
  if (contents.id === undefined || contents.id === noHandle) return;
  (backend as NativeBackend).binding.deleteTensor(contents.id);
  contents.id = noHandle;
}

/** The data of `from` becomes that of `to`, and `from` has none. @internal */
export function moveContents(from: DataEntry, to: DataEntry): void {
  const source = from as Contents;
  const target = to as Contents;
  target.values = source.values;
  source.values = undefined;
  if (source.id === undefined) return;
  target.id = source.id;
  source.id = noHandle;
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
