import type { DataId, Tensor } from "@tensorflow/tfjs-core";
import type { EngineBackend } from "../engine-internals.js";
import type { Session } from "../session.js";
import { addReference, referencesTo } from "./data-contents.js";

/** Property of a `DataId` for its pin. */
const pinKey = Symbol("remat.pin");
/** Property for the backend that keeps it once no tensor uses it. */
const aloneKey = Symbol("remat.alone");

type PinnedDataId = DataId & { [pinKey]?: Session | undefined; [aloneKey]?: EngineBackend | undefined };

/**
 * Adds our own counted reference, so that the data survives its last tensor. Pinning twice has no further effect.
 * @internal
 */
export function pin(session: Session, dataId: DataId): void {
  const pinned = dataId as PinnedDataId;
  if (pinned[pinKey] === session) return;
  const entry = session.storages.entryOf(dataId);
  // A kernel may name data that no backend has, so there is nothing to pin.
  if (entry === undefined) return;
  addReference(entry);
  pinned[pinKey] = session;
}

/** Removes the reference. @internal */
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

/** Reports when only a pin keeps a `DataId` alive. @internal */
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

/**
 * Keeps the counts of `tf.memory()` and of TensorFlow.js's leak check the same as in unmodified TensorFlow.js: only
 * data used by tensors counts.
 */
function hideFromCounts({ engine, storages }: Session, dataId: DataId): void {
  const pinned = dataId as PinnedDataId;
  const backend = engine.state.tensorInfo.get(dataId)?.backend;
  if (backend === undefined || pinned[aloneKey] !== undefined) return;
  pinned[aloneKey] = backend;
  engine.state.numDataBuffers--;
  storages.hide(backend, 1);
}
