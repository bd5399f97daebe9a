import type { KernelAttributes, Storage } from "@remat/dispatch-hook";
import type { ConstantData, HostCopy } from "@remat/dispatch-hook/residency";
import type { DataId, TensorInfo } from "@tensorflow/tfjs-core";

/** A buffer of the running step (architecture rule 7), and what is needed to recompute it. @internal */
export class StoredBuffer {
  /** Undefined for what is no single buffer. */
  readonly storage: Storage | undefined;
  /** What the ledger finds it by. */
  readonly key: object;
  /** All `DataId`s that live in it: first the one that its kernel made, then views, in the order in which they were made. */
  readonly data: StoredData[] = [];
  /** A variable's, or otherwise not to be evicted. */
  isHeld = false;
  /** No step of the plan reads it, and nothing can recompute it. */
  isEvictedForGood = false;
  /** What host memory has of it, of its first `DataId`: it is reloaded from there, not recomputed. */
  hostCopy: HostCopy | undefined;
  /** Kernels that read it now: it must not be evicted. */
  locks = 0;

  constructor(storage: Storage | undefined, key: object) {
    this.storage = storage;
    this.key = key;
  }

  get isEvicted(): boolean {
    return this.storage?.isEvicted === true;
  }

  get bytes(): number {
    return this.storage?.bytes ?? 0;
  }

  /** Whether it may be evicted and can be recomputed or reloaded. */
  get isEvictable(): boolean {
    if (this.isHeld || this.isEvicted || this.locks > 0 || this.data.length === 0) return false;
    const [first] = this.data;
    for (const data of this.data)
      if (data.maker === undefined && (data !== first || this.hostCopy === undefined)) return false;
    return true;
  }

  /** Whether its data may move to host memory: that of one `DataId`, of which all others are views that can be refreshed. */
  get isOffloadable(): boolean {
    if (this.isHeld || this.isEvicted || this.locks > 0 || this.data.length === 0) return false;
    return this.data.every(({ maker }, i) => (maker?.isView === true) === i > 0);
  }

  /** Whether a tensor lives in it; otherwise only recipes need it. */
  get isUsed(): boolean {
    return this.data.some(({ isUsed }) => isUsed);
  }
}

/** One `DataId` of a buffer. @internal */
export class StoredData {
  readonly dataId: DataId;
  readonly buffer: StoredBuffer;
  /** Whether a tensor is on it: cleared when the engine has disposed of the last. */
  isUsed = true;
  /** A view of a buffer that has been evicted: its kernel is replayed before somebody reads it. Only where a view has a `DataId` of its own. */
  isStale = false;
  /** What makes it; undefined where nothing can: inputs, weights, values drawn in JavaScript, random kernels. */
  maker: Recipe | undefined;
  /** The recipes that read it, each once. Few, as a rule: a set for each would be most of what the ledger costs. */
  readonly readers: Recipe[] = [];

  constructor(dataId: DataId, buffer: StoredBuffer) {
    this.dataId = dataId;
    this.buffer = buffer;
  }

  /** Whether a kernel has to run before it can be read. */
  get needsReplay(): boolean {
    return this.isStale || this.buffer.isEvicted;
  }

  /** False if it was none. */
  removeReader(recipe: Recipe): boolean {
    const { readers } = this;
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
  /** The `sequence` of the op that it was; absent for a constant. */
  readonly sequence?: number;
  /** What `inputs` are on, each once. */
  readonly sources: readonly StoredData[];
  /** By output; undefined for one on an input's `DataId`, or that nobody needs any more. */
  readonly outputs: (StoredData | undefined)[];
  /** Whether its outputs live in an input's buffer. */
  readonly isView: boolean;
  /** How often it has run, and when last, in ms: what it costs to recompute. */
  costMs: number;
  /** Its place among the ops of the pass. */
  readonly op: number;
  /** Its place in the plan; -1 for none. */
  planned: number;
  /** For what JavaScript filled: then there is no kernel. */
  readonly constant?: ConstantData;
}
