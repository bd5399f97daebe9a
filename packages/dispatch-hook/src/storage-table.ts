import type { DataId, DataStorage, TensorInfo } from "@tensorflow/tfjs-core";
import { isComplexPair } from "./backends/data-entry.js";
import { type Backend, type DataEntry } from "./backends/index.js";
import { sharedBuffers } from "./backends/shared-buffers.js";
import { bufferBackend } from "./current-backend.js";
import type { EngineBackend } from "./engine-internals.js";
import type { Storage, StorageOrigin } from "./engine-records.js";
import type { KernelAttributes } from "./kernels/index.js";
import type { PatchSet } from "./patch-set.js";

/** Increases over the life of the process, so that ids of two sessions never collide (T2). */
let nextStorageId = 0;

class Buffer implements Storage {
  readonly table: StorageTable;
  readonly bytes: number;
  readonly backend: string;
  readonly fresh: boolean;
  readonly id = nextStorageId++;
  /** Number of `DataId`s in the buffer. */
  dataIds = 1;
  /** A list with only this storage, for callers that ask for the storages of a tensor. */
  private list: readonly Storage[] | undefined;
  isEvicted = false;

  constructor(table: StorageTable, bytes: number, backend: string, fresh: boolean) {
    this.table = table;
    this.bytes = bytes;
    this.backend = backend;
    this.fresh = fresh;
  }

  get alone(): readonly Storage[] {
    this.list ??= [this];
    return this.list;
  }
}

/** Property of a `DataId` for its buffer. A weak map with as many keys would slow down garbage collection. */
const bufferKey = Symbol("remat.buffer");

/**
 * Property for data whose shared buffer was not requested yet. All data of one buffer refers to the same object here.
 */
const unaskedKey = Symbol("remat.unasked");

type MarkedDataId = DataId & { [bufferKey]?: Buffer | undefined; [unaskedKey]?: UnaskedBuffer };

interface UnaskedBuffer {
  buffer: Buffer | undefined;
}

interface AttachedBackend {
  readonly backend: Backend;
  readonly source: object;
  entryOf(dataId: DataId): DataEntry | undefined;
}

/** A backend without a `DataStorage` may report its data itself, as the fake backend does. @internal */
export interface SelfReportingBackend extends EngineBackend {
  /** Set while a dispatch mode is open. Called when a `DataId` gets its data and when it loses it. */
  dataWatcher: { added(dataId: DataId, entry: DataEntry): void; removed(dataId: DataId): void } | undefined;
  /** Returns the entry of `dataId`, or undefined if it does not belong to this backend. */
  entryOf(dataId: DataId): DataEntry | undefined;
}

export interface StorageListener {
  /** True if storages are needed. If not, new data gets no storage until one is requested. */
  readonly isWatching: boolean;
  /** Data is about to be made outside of every kernel. */
  dataComing(bytes: number): void;
  storageAllocated(storage: Storage, origin: StorageOrigin): void;
  storageReleased(storage: Storage): void;
  storageResized(storage: Storage, bytes: number): void;
}

/** Checks by properties, since a backend may come with its own copy of tfjs-core. */
const isDataStorage = (value: unknown): value is DataStorage<DataEntry> =>
  typeof value === "object" && value !== null && "numDataIds" in value && "dataMover" in value;

/**
 * Maps each `DataId` to its buffer (engine rule 7). It listens to the `DataStorage` in which backends keep their data. Events
 * during a kernel are held back, because only its outputs show which new `DataId`s share an input's buffer.
 *
 * @internal
 */
export class StorageTable {
  private readonly listener: StorageListener;
  private readonly attached: AttachedBackend[] = [];
  /**
   * Events during the kernel: bytes of new data, or -1 for a free. The arrays keep their length, so that they do not
   * grow again for every op.
   */
  private readonly heldDataIds: DataId[] = [];
  private readonly heldBytes: number[] = [];
  private readonly heldBackends: Backend[] = [];
  private heldCount = 0;
  private isHolding = false;
  /** Number of `DataId`s of a backend that should not be counted. */
  private readonly hidden = new Map<EngineBackend, number>();
  private readonly aliases = new Map<DataId, DataId>();
  /** For outputs of the running kernel whose data will move: the evicted `DataId` that receives it. */
  private readonly adopted = new Map<DataId, DataId>();

  constructor(listener: StorageListener) {
    this.listener = listener;
  }

  attach(name: string, instance: EngineBackend, patches: PatchSet): void {
    const backend = bufferBackend(name, instance);
    if ("dataWatcher" in instance) {
      this.watch(backend, instance as SelfReportingBackend, patches);
      return;
    }
    const data = Object.values(instance).find(isDataStorage);
    if (data === undefined || this.attached.some(({ source }) => source === data)) return;
    const entryOf = (dataId: DataId) => (data.has(dataId) ? data.get(dataId) : undefined);
    this.attached.push({ backend, source: data, entryOf });
    patches.patch(
      instance,
      "numDataIds",
      (original) => () => original.call(instance) - (this.hidden.get(instance) ?? 0),
    );
    patches.patch(data, "set", (set) => (dataId: DataId, entry: DataEntry) => {
      if (!this.listener.isWatching || isComplexPair(entry)) {
        set.call(data, dataId, entry);
        return;
      }
      const bytes = backend.bytesOf(entry);
      if (!this.isHolding) this.listener.dataComing(bytes);
      set.call(data, dataId, entry);
      this.added(dataId, bytes, backend);
    });
    patches.patch(data, "delete", (remove) => (dataId: DataId) => {
      const removed = remove.call(data, dataId);
      if (removed) this.removed(dataId);
      return removed;
    });
  }

  private watch(backend: Backend, instance: SelfReportingBackend, patches: PatchSet): void {
    if (this.attached.some(({ source }) => source === instance)) return;
    this.attached.push({ backend, source: instance, entryOf: (dataId) => instance.entryOf(dataId) });
    instance.dataWatcher = {
      added: (dataId, entry) => {
        if (this.listener.isWatching && !isComplexPair(entry)) this.added(dataId, backend.bytesOf(entry), backend);
      },
      removed: (dataId) => this.removed(dataId),
    };
    patches.undoBy(() => {
      instance.dataWatcher = undefined;
    });
  }

  /** A kernel begins. */
  hold(): void {
    this.isHolding = true;
  }

  get holding(): boolean {
    return this.isHolding;
  }

  /** Records which outputs of a finished kernel, possibly a nested one, share an input's buffer. */
  kernelDone(
    backend: Backend,
    kernel: string,
    inputs: Readonly<Record<string, TensorInfo | undefined>> | readonly TensorInfo[],
    attributes: KernelAttributes | undefined,
    outputs: readonly TensorInfo[],
  ): void {
    for (const shared of sharedBuffers(backend, kernel, inputs, attributes)) {
      const dataId = this.part(outputs[shared.output].dataId, shared.outputPart);
      const source = this.part(shared.input.dataId, shared.inputPart);
      if (dataId !== source) this.aliases.set(dataId, source);
    }
  }

  /** Records the same for an unwatched kernel, in case the buffers of its outputs are requested later. */
  kernelUnwatched(
    backend: Backend,
    kernel: string,
    inputs: Readonly<Record<string, TensorInfo | undefined>> | readonly TensorInfo[],
    attributes: KernelAttributes | undefined,
    made: TensorInfo | readonly TensorInfo[],
  ): void {
    if (!backend.sharing.has(kernel)) return;
    const outputs = Array.isArray(made) ? (made as readonly TensorInfo[]) : [made as TensorInfo];
    for (const shared of sharedBuffers(backend, kernel, inputs, attributes)) {
      const dataId = this.part(outputs[shared.output].dataId, shared.outputPart);
      const source = this.part(shared.input.dataId, shared.inputPart);
      if (dataId !== source) this.share(dataId, source);
    }
  }

  /** Records that new data is in the buffer of other data. */
  private share(dataId: MarkedDataId, source: MarkedDataId): void {
    // A nested kernel may have recorded it before.
    if (this.known(dataId) !== undefined) return;
    const buffer = this.known(source);
    if (buffer !== undefined) this.join(dataId, buffer);
    else dataId[unaskedKey] = source[unaskedKey] ??= { buffer: undefined };
  }

  private join(dataId: MarkedDataId, buffer: Buffer): Buffer {
    buffer.dataIds++;
    dataId[bufferKey] = buffer;
    return buffer;
  }

  /** Ends the kernel and reports its allocations and frees, in order. */
  flush(origin: StorageOrigin): void {
    this.isHolding = false;
    const { heldDataIds, heldBytes, heldBackends } = this;
    const count = this.heldCount;
    this.heldCount = 0;
    for (let i = 0; i < count; i++) {
      if (heldBytes[i] < 0) this.removed(heldDataIds[i]);
      else this.place(heldDataIds[i], heldBytes[i], heldBackends[i], origin);
    }
    if (this.aliases.size > 0) this.aliases.clear();
    if (this.adopted.size > 0) this.adopted.clear();
  }

  /** Excludes `count` more of a backend's `DataId`s from its count. */
  hide(backend: EngineBackend, count: number): void {
    this.hidden.set(backend, (this.hidden.get(backend) ?? 0) + count);
  }

  /** Records that the data of `dataIds`, which are all ids in one buffer, is evicted. */
  evicted(dataIds: readonly DataId[]): void {
    const buffer = dataIds.length > 0 ? this.bufferOf(dataIds[0]) : undefined;
    if (buffer === undefined || buffer.isEvicted) return;
    buffer.isEvicted = true;
    this.listener.storageResized(buffer, 0);
  }

  /** Records that the data of `dataId` is restored. */
  restored(dataId: DataId): void {
    const buffer = this.bufferOf(dataId);
    if (buffer?.isEvicted !== true) return;
    buffer.isEvicted = false;
    this.listener.storageResized(buffer, buffer.bytes);
  }

  /** Moves the running kernel's `output` to `evicted`, so that `output` uses the buffer of `evicted`. */
  adopt(output: DataId, evicted: DataId): void {
    this.adopted.set(output, evicted);
  }

  /** Returns the backend's entry for a `DataId`. */
  entryOf(dataId: DataId): DataEntry | undefined {
    for (const { entryOf } of this.attached) {
      const entry = entryOf(dataId);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /**
   * Returns the buffers of a tensor: one, or two for a complex number on cpu. Empty if the backend has no
   * `DataStorage`.
   */
  storagesOf(tensor: TensorInfo): readonly Storage[] {
    const known = this.known(tensor.dataId);
    if (known !== undefined) return known.alone;
    const at = this.locate(tensor.dataId);
    if (at === undefined) return [];
    const { backend, entry } = at;
    if (entry.complexTensorInfos === undefined) return this.found(tensor.dataId, entry, backend).alone;
    const { real, imag } = entry.complexTensorInfos;
    return [real, imag].flatMap(({ dataId }) => this.bufferOf(dataId) ?? []);
  }

  /** Calls `look` with each buffer of a tensor, without allocating a list. */
  eachStorageOf(tensor: TensorInfo, look: (storage: Storage) => void): void {
    const known = this.known(tensor.dataId);
    if (known !== undefined) look(known);
    else for (const storage of this.storagesOf(tensor)) look(storage);
  }

  private added(dataId: DataId, bytes: number, backend: Backend): void {
    if (this.isHolding) this.note(dataId, bytes, backend);
    else this.place(dataId, bytes, backend, "data");
  }

  private note(dataId: DataId, bytes: number, backend: Backend | undefined): void {
    this.heldDataIds[this.heldCount] = dataId;
    this.heldBytes[this.heldCount] = bytes;
    this.heldBackends[this.heldCount++] = backend as Backend;
  }

  private removed(dataId: DataId): void {
    if (this.isHolding) {
      this.note(dataId, -1, undefined);
      return;
    }
    const buffer = this.known(dataId);
    if (buffer === undefined) return;
    (dataId as MarkedDataId)[bufferKey] = undefined;
    if (--buffer.dataIds === 0) this.listener.storageReleased(buffer);
  }

  private place(dataId: DataId, bytes: number, backend: Backend, origin: StorageOrigin): void {
    const source = this.sourceOf(dataId, backend);
    const shared = source === undefined ? undefined : this.bufferOf(source);
    if (shared !== undefined) {
      this.join(dataId, shared);
      if (!shared.isEvicted) return;
      shared.isEvicted = false;
      this.listener.storageResized(shared, shared.bytes);
      return;
    }
    const buffer = new Buffer(this, bytes, backend.name, true);
    (dataId as MarkedDataId)[bufferKey] = buffer;
    this.listener.storageAllocated(buffer, origin);
  }

  /** Ignores records of an earlier session, because nothing was watched since. */
  private known(dataId: DataId): Buffer | undefined {
    const buffer = (dataId as MarkedDataId)[bufferKey];
    return buffer?.table === this ? buffer : undefined;
  }

  private bufferOf(dataId: DataId): Buffer | undefined {
    const known = this.known(dataId);
    if (known !== undefined) return known;
    const at = this.locate(dataId);
    return at && this.found(dataId, at.entry, at.backend);
  }

  /** Returns the backend of a `DataId` and its entry. */
  locate(dataId: DataId): { readonly backend: Backend; readonly entry: DataEntry } | undefined {
    for (const { backend, entryOf } of this.attached) {
      const entry = entryOf(dataId);
      if (entry !== undefined) return { backend, entry };
    }
    return undefined;
  }

  /** Returns the data whose buffer contains new data, if it has no buffer of its own. */
  private sourceOf(dataId: DataId, backend: Backend): DataId | undefined {
    const { adopted, aliases } = this;
    const told = adopted.size > 0 ? adopted.get(dataId) : undefined;
    return told ?? (aliases.size > 0 ? aliases.get(dataId) : undefined) ?? this.viewed(dataId, backend);
  }

  /** Returns the data that a backend's entry for `dataId` is a view of. */
  private viewed(dataId: DataId, backend: Backend): DataId | undefined {
    if (backend.viewOf === undefined) return undefined;
    const entry = this.entryOf(dataId);
    return entry && backend.viewOf(entry);
  }

  /** Adds data that existed before it was watched. */
  private found(dataId: DataId, entry: DataEntry, backend: Backend): Buffer {
    const viewed = backend.viewOf?.(entry);
    const shared = viewed === undefined || viewed === dataId ? undefined : this.bufferOf(viewed);
    if (shared !== undefined) return this.join(dataId, shared);
    const unasked = (dataId as MarkedDataId)[unaskedKey];
    const asked = unasked?.buffer;
    if (asked?.table === this && asked.dataIds > 0) return this.join(dataId, asked);
    const buffer = new Buffer(this, backend.bytesOf(entry), backend.name, false);
    if (unasked !== undefined) unasked.buffer = buffer;
    (dataId as MarkedDataId)[bufferKey] = buffer;
    return buffer;
  }

  private part(dataId: DataId, part: "real" | "imag" | undefined): DataId {
    if (part === undefined) return dataId;
    return this.entryOf(dataId)?.complexTensorInfos?.[part].dataId ?? dataId;
  }
}
