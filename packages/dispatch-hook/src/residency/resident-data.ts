import type { DataId } from "@tensorflow/tfjs-core";
import { openSession } from "../open-session.js";
import { type ConstantData, constantIn, valuesOf } from "./constants.js";
import { releaseContents, restoreContents, valuesIn } from "./data-contents.js";
import { pin, unpin } from "./pins.js";
import { type KernelRecipe, runAgain } from "./replay.js";

/**
 * Lets go of the data of a storage while tensors still live in it; `dataIds` are all that live in it. Tensors, counted references and
 * `tf.memory()` stay as they are, but nobody may read the data until `replayKernel` has made it again. Only while a mode is open.
 */
export function evictData(dataIds: readonly DataId[]): void {
  const session = openSession();
  if (session === undefined) return;
  const { storages } = session;
  for (const dataId of dataIds) {
    const entry = storages.entryOf(dataId);
    if (entry !== undefined) releaseContents(entry, backendOf(dataId));
  }
  storages.evicted(dataIds);
}

/**
 * Runs a kernel again, off the tape and in `Phase.recompute`, and gives what it makes to the evicted `DataId`s in `into`, by output; other
 * outputs go. From `opComing`, `opOver` and `tensorRead` of a mode.
 *
 * @throws RematError `DATA_UNKNOWN` if one of them is no tensor's any more; whatever the kernel throws
 */
export function replayKernel(recipe: KernelRecipe, into: readonly (DataId | undefined)[]): void {
  const session = openSession();
  if (session !== undefined) runAgain(session, recipe, into);
}

/** Returns what `dataId` holds, if JavaScript filled it, no kernel has read it yet, and it fits into little memory: short lists, or one value many times. */
export function constantOf(dataId: DataId): ConstantData | undefined {
  const entry = openSession()?.storages.entryOf(dataId);
  return entry && constantIn(valuesIn(dataId, entry, backendOf(dataId)));
}

/** Gives an evicted `DataId` its constant back. */
export function restoreConstant(dataId: DataId, constant: ConstantData): void {
  const entry = openSession()?.storages.entryOf(dataId);
  if (entry === undefined) return;
  restoreContents(entry, valuesOf(constant), backendOf(dataId));
  openSession()?.storages.restored(dataId);
}

/** Holds the data of `dataId` when the last tensor on it is gone (then modes are told `dataUnused`), until it is unpinned. */
export function pinData(dataId: DataId): void {
  const session = openSession();
  if (session !== undefined) pin(session, dataId);
}

/** Ends `pinData`. */
export function unpinData(dataId: DataId): void {
  const session = openSession();
  if (session !== undefined) unpin(session, dataId);
}

const backendOf = (dataId: DataId): object => openSession()?.engine.state.tensorInfo.get(dataId)?.backend ?? {};
