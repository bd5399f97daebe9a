import { RematError } from "@remat/trace";
import type { DataId } from "@tensorflow/tfjs-core";
import { type DataEntry, isKnown, javascriptResidency, type Residency } from "../backends/index.js";
import type { EngineBackend } from "../engine-internals.js";
import type { Session } from "../session.js";

/** Where the data of a `DataId` is. @internal */
export interface Located {
  readonly dataId: DataId;
  readonly entry: DataEntry;
  readonly residency: Residency;
  readonly instance: EngineBackend;
}

/**
 * Returns where the data of `dataId` is, and who moves it; undefined if no backend keeps it. Fake data is JavaScript's, whatever backend it imitates, unless that runs without its device.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` if nothing is known of how the backend's data is moved
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
      `data cannot be evicted and recomputed on the backend '${name}': ${residency.unknown}. Choose another backend.`,
    );
  return { dataId, entry, residency, instance };
}

/** @internal */
export const referencesTo = (entry: DataEntry): number => entry.refCount ?? 0;

/** @internal */
export const addReference = (entry: DataEntry): void => {
  entry.refCount = referencesTo(entry) + 1;
};

/** @internal */
export function entryMissing(dataId: DataId): RematError {
  return new RematError(
    "DATA_UNKNOWN",
    `no backend keeps the data ${JSON.stringify(dataId)}; expected that of a living tensor`,
  );
}
