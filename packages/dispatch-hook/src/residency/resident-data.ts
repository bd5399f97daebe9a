import type { DataId } from "@tensorflow/tfjs-core";
import type { RecomputationObserver } from "../dispatch-observer.js";
import type { CheckpointedBlock } from "../engine-records.js";
import { openSession } from "../open-session.js";
import { type ConstantData, constantIn, valuesOf } from "./constants.js";
import { locateData } from "./data-contents.js";
import { pin, unpin } from "./pins.js";
import { type KernelRecipe, replay } from "./replay.js";

/**
 * Evicts the data of a storage while tensors still live in it; `dataIds` are all that live in it. Tensors, counted references and
 * `tf.memory()` stay as they are, but nobody may read the data until `replayKernel` has recomputed it. Only while a mode is open.
 */
export function evictData(dataIds: readonly DataId[]): void {
  const session = openSession();
  if (session === undefined) return;
  for (const dataId of dataIds) {
    const at = locateData(session, dataId);
    at?.residency.release(at.entry, at.instance, dataId);
  }
  session.storages.evicted(dataIds);
}

/**
 * Replays a kernel, off the tape and in `Phase.recompute`, and gives what it makes to the evicted `DataId`s in `into`, by output; other
 * outputs go. From `opComing`, `opOver` and `tensorRead` of a mode.
 *
 * @throws RematError `DATA_UNKNOWN` if one of them is no tensor's any more; whatever the kernel throws
 */
export function replayKernel(recipe: KernelRecipe, into: readonly (DataId | undefined)[]): void {
  const session = openSession();
  if (session !== undefined) replay(session, recipe, into);
}

/** What modes are told of blocks and of what is recomputed. */
type Told = Required<RecomputationObserver>;

/** Tells modes of a block, or of what is recomputed, by that method of theirs. */
export function tellModes<K extends keyof Told>(name: K, ...told: Parameters<Told[K]>): void {
  const modes = openSession()?.modes;
  for (const open of modes?.listeners(name) ?? [])
    if (modes?.isInside(open)) (open.mode[name] as (...told: Parameters<Told[K]>) => void).apply(open.mode, told);
}

/**
 * Runs `replayAll`, which replays some of `ops` of the forward pass, told by `sequence`: modes are told that these are recomputed.
 *
 * @param block the block whose ops they are, if they are one's
 */
export function recomputeOps(ops: readonly number[], replayAll: () => void, block?: CheckpointedBlock): void {
  tellModes("recomputationStarting", ops, block);
  try {
    replayAll();
  } finally {
    tellModes("recomputationOver", block);
  }
}

/** Returns what `dataId` holds, if JavaScript filled it, no kernel has read it yet, and it fits into little memory: short lists, or one value many times. */
export function constantOf(dataId: DataId): ConstantData | undefined {
  const session = openSession();
  const at = session && locateData(session, dataId);
  return at && constantIn(at.residency.valuesOf(at.entry, dataId, at.instance));
}

/** Gives an evicted `DataId` its constant back. */
export function restoreConstant(dataId: DataId, constant: ConstantData): void {
  const session = openSession();
  const at = session && locateData(session, dataId);
  if (at === undefined) return;
  at.residency.restore(at.entry, valuesOf(constant), at.instance);
  session?.storages.restored(dataId);
}

/** Data of a device as host memory has it; undefined values are those of fake data. */
export interface HostCopy {
  readonly values: ArrayLike<unknown> | undefined;
}

/** Returns a copy of what `dataId` holds in host memory, bit for bit, waiting for the device. Nobody is told that it is read. */
export function copyToHost(dataId: DataId): HostCopy | undefined {
  const session = openSession();
  const at = session && locateData(session, dataId);
  if (at === undefined) return undefined;
  if (at.instance.standsFor !== undefined) return { values: undefined };
  return { values: (at.instance as unknown as ReadableBackend).readSync(dataId) };
}

/** Gives an evicted `DataId` the data of a copy. */
export function copyToDevice(dataId: DataId, { values }: HostCopy): void {
  const session = openSession();
  const at = session && locateData(session, dataId);
  if (at === undefined) return;
  if (values !== undefined) at.residency.restore(at.entry, values, at.instance);
  session?.storages.restored(dataId);
}

interface ReadableBackend {
  readSync(dataId: DataId): ArrayLike<unknown>;
}

/** Returns what was read of `dataId`, as a copy where it is the data itself, so that what is written to it changes no tensor: as on the backends that give copies. */
export function copyIfShared(dataId: DataId, values: unknown): unknown {
  const session = openSession();
  const at = session && locateData(session, dataId);
  const data = at?.residency.valuesOf(at.entry, dataId, at.instance);
  if (!isTypedArray(values)) return Array.isArray(values) && values === data ? [...(values as unknown[])] : values;
  return isTypedArray(data) && values.buffer === data.buffer ? values.slice() : values;
}

const isTypedArray = (values: unknown): values is Float32Array =>
  ArrayBuffer.isView(values) && !(values instanceof DataView);

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
