import type { DataId } from "@tensorflow/tfjs-core";
import type { RecomputationObserver } from "../dispatch-observer.js";
import type { CheckpointedBlock } from "../engine-records.js";
import { openSession } from "../open-session.js";
import { type ConstantData, constantIn, valuesOf } from "./constants.js";
import { locateData } from "./data-contents.js";
import { pin, unpin } from "./pins.js";
import { type KernelRecipe, replay } from "./replay.js";

/**
 * Evicts the data of a storage while tensors still use it. `dataIds` are all ids in the storage. Tensors, reference
 * counts and `tf.memory()` do not change, but the data must not be read until `replayKernel` has recomputed it. Only
 * while a mode is open.
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
 * Replays a kernel, off the tape and in `Phase.recompute`, and moves its outputs to the evicted `DataId`s in `into`.
 * Other outputs are freed. Call it from `opComing`, `opOver` or `tensorRead` of a mode.
 *
 * @throws RematError `DATA_UNKNOWN` if a `DataId` no longer belongs to a tensor; also any error of the kernel
 */
export function replayKernel(recipe: KernelRecipe, into: readonly (DataId | undefined)[]): void {
  const session = openSession();
  if (session !== undefined) replay(session, recipe, into);
}

/** Events of blocks and recomputation. */
type Told = Required<RecomputationObserver>;

/** Reports a block or a recomputation to modes, by the method with this name. */
export function tellModes<K extends keyof Told>(name: K, ...told: Parameters<Told[K]>): void {
  const modes = openSession()?.modes;
  for (const open of modes?.listeners(name) ?? [])
    if (modes?.isInside(open)) (open.mode[name] as (...told: Parameters<Told[K]>) => void).apply(open.mode, told);
}

/**
 * Runs `replayAll`, which replays some of `ops` of the forward pass, given by `sequence`. Modes are notified that these
 * are recomputed.
 *
 * @param block the block of the ops, if they belong to one
 */
export function recomputeOps(ops: readonly number[], replayAll: () => void, block?: CheckpointedBlock): void {
  tellModes("recomputationStarting", ops, block);
  try {
    replayAll();
  } finally {
    tellModes("recomputationOver", block);
  }
}

/**
 * Returns the values of `dataId` in compact form, if JavaScript filled it, no kernel has read it, and it is a short
 * list or one repeated value. Otherwise undefined.
 */
export function constantOf(dataId: DataId): ConstantData | undefined {
  const session = openSession();
  const at = session && locateData(session, dataId);
  return at && constantIn(at.residency.valuesOf(at.entry, dataId, at.instance));
}

/** Puts a constant's data back after eviction. */
export function restoreConstant(dataId: DataId, constant: ConstantData): void {
  const session = openSession();
  const at = session && locateData(session, dataId);
  if (at === undefined) return;
  at.residency.restore(at.entry, valuesOf(constant), at.instance);
  session?.storages.restored(dataId);
}

/** A copy of device data in host memory. */
export interface HostCopy {
  /** The values. Undefined for fake data. */
  readonly values: ArrayLike<unknown> | undefined;
}

/**
 * Copies the data of `dataId` to host memory, bitwise identical, and waits for the device. The read is not reported to
 * modes.
 */
export function copyToHost(dataId: DataId): HostCopy | undefined {
  const session = openSession();
  const at = session && locateData(session, dataId);
  if (at === undefined) return undefined;
  if (at.instance.standsFor !== undefined) return { values: undefined };
  return { values: (at.instance as unknown as ReadableBackend).readSync(dataId) };
}

/** Restores the data of an evicted `DataId` from a copy. */
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

/**
 * Returns values read from `dataId`, copied if they are the data itself. The caller can then modify them without
 * changing a tensor.
 */
export function copyIfShared(dataId: DataId, values: unknown): unknown {
  const session = openSession();
  const at = session && locateData(session, dataId);
  const data = at?.residency.valuesOf(at.entry, dataId, at.instance);
  if (!isTypedArray(values)) return Array.isArray(values) && values === data ? [...(values as unknown[])] : values;
  return isTypedArray(data) && values.buffer === data.buffer ? values.slice() : values;
}

const isTypedArray = (values: unknown): values is Float32Array =>
  ArrayBuffer.isView(values) && !(values instanceof DataView);

/**
 * Keeps the data of `dataId` alive after its last tensor is gone, until it is unpinned. Modes are then notified by
 * `dataUnused`.
 */
export function pinData(dataId: DataId): void {
  const session = openSession();
  if (session !== undefined) pin(session, dataId);
}

/** Ends `pinData`. */
export function unpinData(dataId: DataId): void {
  const session = openSession();
  if (session !== undefined) unpin(session, dataId);
}
