import type { KernelAttributes, Storage } from "@remat/dispatch-hook";
import type { ConstantData, HostCopy } from "@remat/dispatch-hook/residency";
import type { DataId, TensorInfo } from "@tensorflow/tfjs-core";

/** A buffer of the running step (engine rule 7), and the data needed to recompute it. @internal */
export class StoredBuffer {
  /** Undefined if the data is not a single buffer. */
  readonly storage: Storage | undefined;
  /** All `DataId`s in the buffer: first the one that its kernel made, then views in the order of their creation. */
  readonly data: StoredData[];
  /** The buffers that became known before and after this one. */
  previous: StoredBuffer | undefined;
  next: StoredBuffer | undefined;
  /** True if the buffer must not be evicted, for example because a variable uses it. */
  isHeld = false;
  /** True if it was evicted although it cannot be recomputed, because no later step of the plan reads it. */
  isEvictedForGood = false;
  /** Host copy of the first `DataId`. The buffer is reloaded from it instead of being recomputed. */
  hostCopy: HostCopy | undefined;
  /** Number of kernels that read the buffer now. It must not be evicted while this is positive. */
  locks = 0;

  constructor(storage: Storage | undefined, dataId: DataId) {
    this.storage = storage;
    this.data = [new StoredData(dataId, this)];
  }

  /** Adds a `DataId` in the buffer. */
  add(dataId: DataId): StoredData {
    const data = new StoredData(dataId, this);
    this.data.push(data);
    return data;
  }

  remove(removed: StoredData): void {
    if (this.data.at(-1) === removed) this.data.pop();
    else this.data.splice(this.data.indexOf(removed), 1);
  }

  get isEvicted(): boolean {
    return this.storage?.isEvicted === true;
  }

  get bytes(): number {
    return this.storage?.bytes ?? 0;
  }

  /** True if the buffer may be evicted and can be recomputed or reloaded. */
  get isEvictable(): boolean {
    if (this.isHeld || this.isEvicted || this.locks > 0 || this.data.length === 0) return false;
    const [first] = this.data;
    for (const data of this.data)
      if (data.maker === undefined && (data !== first || this.hostCopy === undefined)) return false;
    return true;
  }

  /**
   * True if the data may move to host memory. This needs one `DataId` of which all others are views that can be
   * refreshed.
   */
  get isOffloadable(): boolean {
    if (this.isHeld || this.isEvicted || this.locks > 0 || this.data.length === 0) return false;
    return this.data.every(({ maker }, i) => (maker?.isView === true) === i > 0);
  }

  /** True if a tensor uses the buffer. Otherwise only recipes need it. */
  get isUsed(): boolean {
    for (const { isUsed } of this.data) if (isUsed) return true;
    return false;
  }
}

/** Shared by data that nothing reads. A list that grows from empty reserves room for many. */
const noReaders: readonly Recipe[] = [];

/** One `DataId` of a buffer. @internal */
export class StoredData {
  readonly dataId: DataId;
  readonly buffer: StoredBuffer;
  /** True if a tensor uses it. Cleared when the engine disposes of the last one. */
  isUsed = true;
  /**
   * True if this is a view of a buffer that was evicted, so that its kernel must run again before it is read. Only for
   * views with their own `DataId`.
   */
  isStale = false;
  /** The recipe that makes it. Undefined for inputs, weights, values drawn in JavaScript and random kernels. */
  maker: Recipe | undefined;
  /**
   * The recipes that read it, without duplicates. A list is enough because it is short. A set for each would dominate
   * the ledger's cost.
   */
  readers: readonly Recipe[] = noReaders;

  constructor(dataId: DataId, buffer: StoredBuffer) {
    this.dataId = dataId;
    this.buffer = buffer;
  }

  /** True if a kernel has to run before it can be read. */
  get needsReplay(): boolean {
    return this.isStale || this.buffer.isEvicted;
  }

  addReader(recipe: Recipe): void {
    if (this.readers === noReaders) this.readers = [recipe];
    else (this.readers as Recipe[]).push(recipe);
  }

  /** Returns false if the recipe was not a reader. */
  removeReader(recipe: Recipe): boolean {
    const readers = this.readers as Recipe[];
    const at = readers.lastIndexOf(recipe);
    if (at < 0) return false;
    readers[at] = readers[readers.length - 1];
    readers.pop();
    return true;
  }
}

/** A kernel call that can be replayed (engine rule 5). @internal */
export interface Recipe {
  readonly kernel: string;
  readonly inputs: Readonly<Record<string, TensorInfo>> | readonly TensorInfo[];
  readonly attributes: KernelAttributes | undefined;
  /** The `sequence` of the original op. Undefined for a constant. */
  readonly sequence?: number;
  /** Data of `inputs`, without duplicates. */
  readonly sources: readonly StoredData[];
  /** Data of each output. Undefined for an output on an input's `DataId`, and for one that is no longer needed. */
  readonly outputs: (StoredData | undefined)[];
  /** True if its outputs share an input's buffer. */
  readonly isView: boolean;
  /** Cost of a recomputation in milliseconds, from the latest run. */
  costMs: number;
  /** Index of the op in the pass. */
  readonly op: number;
  /** Index in the plan, or -1. */
  planned: number;
  /** Data that JavaScript filled, without a kernel. */
  readonly constant?: ConstantData;
}
