import { RematError } from "@remat/trace";
import type { DataId } from "@tensorflow/tfjs-core";
import { type DataEntry, isKnown, javascriptResidency, type Residency } from "../backends/index.js";
import type { EngineBackend } from "../engine-internals.js";
import type { Session } from "../session.js";

/** Location of the data of a `DataId`. @internal */
export interface Located {
  readonly dataId: DataId;
  readonly entry: DataEntry;
  readonly residency: Residency;
  readonly instance: EngineBackend;
}

/**
 * Returns the location of the data of `dataId`, and how to move it. Undefined if no backend has it. Fake data is in
 * JavaScript for any simulated backend, unless that runs without its device.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` if it is unknown how to move the backend's data
 *
 * @internal
 */
export function locateData({ engine, storages }: Session, dataId: DataId): Located | undefined {
  const found = storages.locate(dataId);
  const instance = engine.state.tensorInfo.get(dataId)?.backend;
  if (found === undefined || instance === undefined) return undefined;
  const { entry, backend } = found;
  if (instance.standsFor !== undefined && instance.isDeviceFree !== true)
    return { dataId, entry, residency: javascriptResidency, instance };
  const { name, residency } = backend;
  if (!isKnown(residency))
    throw new RematError(
      "BACKEND_UNSUPPORTED",
      `recomputation is not supported on the backend '${name}': ${residency.unknown}. Choose another backend.`,
    );
  return { dataId, entry, residency, instance };
}

/** Returns the number of references to an entry. @internal */
export const referencesTo = (entry: DataEntry): number => entry.refCount ?? 0;

/** Adds a reference to an entry. @internal */
export const addReference = (entry: DataEntry): void => {
  entry.refCount = referencesTo(entry) + 1;
};

/** Returns the error for data that no backend has. @internal */
export function entryMissing(): RematError {
  return new RematError(
    "DATA_UNKNOWN",
    "no backend has the data of this tensor: the tensor was disposed. Pass the data of a live tensor.",
  );
}
