import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import type { EngineBackend } from "../engine-internals.js";
import type { Session } from "../session.js";
import { addReference, referencesTo } from "./data-contents.js";

/** Where a `DataId` carries its pin, and the backend that keeps it once no tensor is on it any more. */
const pinKey = Symbol("remat.pin");
const aloneKey = Symbol("remat.alone");

type PinnedDataId = DataId & { [pinKey]?: Session | undefined; [aloneKey]?: EngineBackend | undefined };

/** A counted reference of ours: the data stays when the last tensor on it goes. Once is enough. @internal */
export function pin(session: Session, dataId: DataId): void {
  const pinned = dataId as PinnedDataId;
  if (pinned[pinKey] === session) return;
  const entry = session.storages.entryOf(dataId);
  // A kernel may name data that no backend keeps: there is nothing to hold.
  if (entry === undefined) return;
  addReference(entry);
  pinned[pinKey] = session;
}

/** @internal */
export function unpin(session: Session, dataId: DataId): void {
  const pinned = dataId as PinnedDataId;
  if (pinned[pinKey] === undefined) return;
  pinned[pinKey] = undefined;
  const { engine } = session;
  const alone = pinned[aloneKey];
  if (alone !== undefined) {
    pinned[aloneKey] = undefined;
    engine.state.numDataBuffers++;
    session.storages.hide(alone, -1);
  }
  const info = engine.state.tensorInfo.get(dataId);
  if (info?.backend.disposeData?.(dataId)) engine.removeDataId(dataId, info.backend);
}

/** Tells when only a pin holds a `DataId`. @internal */
export function patchDisposal(session: Session): void {
  const { engine, patches, storages, modes } = session;
  patches.patch(engine, "disposeTensor", (original) => (tensor: Tensor) => {
    original.call(engine, tensor);
    const { dataId } = tensor;
    if ((dataId as PinnedDataId)[pinKey] !== session) return;
    const entry = storages.entryOf(dataId);
    if (entry === undefined || referencesTo(entry) !== 1) return;
    hideFromCounts(session, dataId);
    for (const { mode } of modes.listeners("dataUnused")) mode.dataUnused(dataId);
  });
}

/** `tf.memory()` and tfjs's own check for leaks count what they do in stock: data on which there are tensors. */
function hideFromCounts({ engine, storages }: Session, dataId: DataId): void {
  const pinned = dataId as PinnedDataId;
  const backend = engine.state.tensorInfo.get(dataId)?.backend;
  if (backend === undefined || pinned[aloneKey] !== undefined) return;
  pinned[aloneKey] = backend;
  engine.state.numDataBuffers--;
  storages.hide(backend, 1);
}
