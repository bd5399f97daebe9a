import {
  eachStorageOf,
  forEachInput,
  type KernelInputs,
  type OpDone,
  type Storage,
  storagesOf,
} from "@remat/dispatch-hook";
import { findBackend, isRepeatable, javascriptResidency } from "@remat/dispatch-hook/backends";
import { constantOf, evictData } from "@remat/dispatch-hook/residency";
import type { DataId, TensorInfo } from "@tensorflow/tfjs-core";
import { borderOf } from "./border-of.js";
import { HostCopies } from "./host-copies.js";
import { KnownData } from "./known-data.js";
import { recipeOfConstant, recipeOfOp } from "./recipe-of-op.js";
import { recompute } from "./recompute.js";
import { Replays } from "./replays.js";
import type { Recipe, StoredBuffer, StoredData } from "./stored-data.js";

/** Callbacks from the ledger to the policy that decides on eviction and recomputation. @internal */
export interface LedgerListener {
  /** No tensor uses the buffer any more, but recipes read it. */
  bufferUnused(buffer: StoredBuffer): void;
  /** A kernel is about to be replayed and needs memory. */
  replaying(recipe: Recipe): void;
  /** An evicted buffer is read. Returns true if the policy has recomputed it. */
  recomputing?(buffer: StoredBuffer): boolean;
  /** A buffer that can be recomputed is about to be evicted. */
  evicting?(buffer: StoredBuffer): void;
}

/**
 * All buffers of one forward and backward pass, and the kernel calls that made them. It can evict the data of any
 * buffer, even under living tensors, and recompute bitwise identical values by replaying kernels.
 *
 * @internal
 */
export class Ledger {
  private readonly data: KnownData = new KnownData();
  private readonly listener: LedgerListener;
  private readonly fills = new Set<Storage>();
  private hasFill = false;
  /** Inputs of the next op. The list is reused so that no op allocates one. */
  private readonly locked: StoredData[] = [];
  /** Inputs of the op that is being recorded, without duplicates. Reused as well. */
  private readonly read: StoredData[] = [];
  private readonly replays: Replays;
  readonly hostCopies: HostCopies = new HostCopies();
  evictionCount = 0;
  touchCount = 0;

  constructor(listener: LedgerListener) {
    this.listener = listener;
    this.replays = new Replays((recipe) => listener.replaying(recipe));
  }

  get replayMs(): number {
    return this.replays.ms;
  }

  get replayCount(): number {
    return this.replays.count;
  }

  /** True during a replay, whose ops are not the user's. */
  get isReplaying(): boolean {
    return this.replays.isRunning;
  }

  get allBuffers(): Iterable<StoredBuffer> {
    return this.data.allBuffers();
  }

  get(dataId: DataId): StoredData | undefined {
    return this.data.get(dataId);
  }

  /** Returns the buffer of a storage, if known. */
  bufferOf(storage: Storage): StoredBuffer | undefined {
    return this.data.bufferOf(storage);
  }

  /**
   * Records the results of an op and how they were made. `place` is the op's index in the pass. Returns its recipe, or
   * undefined if it cannot be replayed or made nothing.
   */
  note(op: OpDone, costMs: number, place: number): Recipe | undefined {
    const { outputs } = op;
    this.read.length = 0;
    forEachInput(op.inputs, this.noteRead);
    // A copy is as long as needed, and a list that grows reserves room for many.
    const sources = this.read.slice();
    const made = new Array<StoredData | undefined>(outputs.length);
    const hasComplex = sources.some(isComplex);
    let isView = false;
    let canRepeat = !op.isOnHost && !op.isInAnyOrder && isRepeatable(op.kernel, op.backend);
    let count = 0;
    for (let i = 0; i < outputs.length; i++) {
      const known = this.data.get(outputs[i].dataId);
      if (known !== undefined) known.isUsed = true;
      const data = known === undefined ? this.data.know(outputs[i]) : undefined;
      made[i] = data;
      if (data === undefined) continue;
      count++;
      if (data.buffer.data.length > 1) isView = true;
      if (data.buffer.isHeld || (hasComplex && isPartOfComplex(data, op))) canRepeat = false;
    }
    if (count === 0 || !canRepeat) return undefined;
    const recipe = recipeOfOp(op, { sources, outputs: made, isView, costMs, op: place });
    for (const data of made) if (data !== undefined) data.maker = recipe;
    for (const source of sources) source.addReader(recipe);
    return recipe;
  }

  private readonly noteRead = (input: TensorInfo): void => {
    const source = this.data.know(input);
    if (!this.read.includes(source)) this.read.push(source);
  };

  /**
   * Locks the inputs of the next op against eviction until `unlock`. Returns the known ones. The list is valid until
   * the next call. If `areNoted` is true, it contains all inputs. Otherwise unknown inputs are added only if JavaScript
   * made them and nothing has read them.
   */
  lock(inputs: KernelInputs, areNoted: boolean): readonly StoredData[] {
    const { locked } = this;
    locked.length = 0;
    forEachInput(inputs, areNoted ? this.lockNoted : this.lockUnnoted);
    return locked;
  }

  private readonly lockNoted = (input: TensorInfo): void => this.lockInput(input, true);
  private readonly lockUnnoted = (input: TensorInfo): void => this.lockInput(input, false);

  private lockInput(input: TensorInfo, isNoted: boolean): void {
    const data = this.data.get(input.dataId) ?? (isNoted || this.isFill(input) ? this.noteSource(input) : undefined);
    if (data === undefined) return;
    data.buffer.locks++;
    this.locked.push(data);
  }

  /** Brings the data of all locked inputs back into memory. */
  makeReadable(locked: readonly StoredData[]): void {
    for (const data of locked) if (data.needsReplay) this.makeDataReadable(data);
  }

  /** Releases the locks when the op begins. */
  unlock(locked: readonly StoredData[]): void {
    for (const { buffer } of locked) buffer.locks--;
  }

  /** Makes the data readable before it is read. */
  touch(dataId: DataId): void {
    const data = this.data.get(dataId);
    if (data?.needsReplay === true) this.makeDataReadable(data);
  }

  /** True if one of the tensors uses a known buffer. */
  hasBufferOf(tensors: readonly TensorInfo[]): boolean {
    return this.data.hasBufferOf(tensors);
  }

  /**
   * Prepares for a kernel that overwrites `input`: brings data made from `input` into memory. From then on, neither
   * that data nor `input` is recomputed.
   */
  writing(input: TensorInfo): void {
    const readers = this.data.know(input).buffer.data.flatMap((data) => data.readers);
    for (const output of readers.flatMap(({ outputs }) => outputs)) if (output !== undefined) this.hold(output.dataId);
    this.hold(input.dataId);
  }

  /** JavaScript has created a storage. */
  madeByJavaScript(storage: Storage): void {
    this.fills.add(storage);
  }

  /** True if JavaScript made the data and nothing has read it. */
  private isFill(input: TensorInfo): boolean {
    if (this.fills.size === 0) return false;
    this.hasFill = false;
    eachStorageOf(input, this.findFill);
    return this.hasFill;
  }

  private readonly findFill = (storage: Storage): void => {
    if (this.fills.has(storage)) this.hasFill = true;
  };

  /** Values made by JavaScript can be captured only until a kernel has read them. */
  private noteSource(input: TensorInfo): StoredData {
    const data = this.data.know(input);
    const { buffer, dataId } = data;
    if (buffer.isHeld || buffer.storage === undefined || !this.fills.delete(buffer.storage)) return data;
    const constant = constantOf(dataId);
    if (constant !== undefined) data.maker = recipeOfConstant(data, constant);
    return data;
  }

  private makeDataReadable(data: StoredData): void {
    const { buffer } = data;
    if (buffer.isEvicted && this.listener.recomputing?.(buffer) !== true) {
      this.touchCount++;
      this.recompute(buffer);
    }
    this.replays.refresh(data);
  }

  /** A variable has taken over the data, so it must be in memory and stay there. */
  hold(dataId: DataId): void {
    const buffer = this.data.get(dataId)?.buffer;
    if (buffer === undefined) return;
    if (buffer.isEvicted) this.recompute(buffer);
    for (const data of buffer.data) this.replays.refresh(data);
    buffer.isHeld = true;
    buffer.hostCopy = undefined;
    for (const data of [...buffer.data]) this.data.forgetMaker(data);
  }

  /** The engine has disposed of the last tensor on `dataId`. */
  unused(dataId: DataId): void {
    const data = this.data.get(dataId);
    if (data === undefined) return;
    data.isUsed = false;
    if (data.readers.length === 0) this.data.remove(data);
    else if (!data.buffer.isUsed) this.listener.bufferUnused(data.buffer);
  }

  evict(buffer: StoredBuffer): void {
    this.evictionCount++;
    this.listener.evicting?.(buffer);
    for (const data of buffer.data) data.isStale = data.maker?.isView === true;
    evictData(buffer.data.map(({ dataId }) => dataId));
  }

  /** Evicts data that cannot be recomputed although tensors use it. Call it only if nothing reads the data again. */
  evictForGood(buffer: StoredBuffer): void {
    if (buffer.isHeld || buffer.isEvicted || buffer.locks > 0) return;
    buffer.isEvictedForGood = true;
    this.evict(buffer);
  }

  /**
   * Frees a buffer that cannot be recomputed and that no tensor uses. Data made from it can then not be recomputed
   * either. Returns false and does nothing if that would lose evicted data that a tensor uses, unless `isOver` reports
   * that it is not read again.
   */
  free(freed: StoredBuffer, isOver: (buffer: StoredBuffer) => boolean = ({ isUsed }) => !isUsed): boolean {
    if (freed.isUsed || freed.locks > 0) return false;
    const border = borderOf(freed, isOver);
    if (border === undefined) return false;
    for (const data of border) {
      if (!data.buffer.isEvicted) this.replays.refresh(data);
      else if (data.buffer.hostCopy === undefined) data.buffer.isEvictedForGood = true;
    }
    for (const data of border) this.data.forgetMaker(data);
    return true;
  }

  /** Replays a recipe for those outputs that need it. The buffers of its sources must be in memory. */
  replay(recipe: Recipe): void {
    this.replays.run(recipe);
  }

  /**
   * Moves an evicted buffer back from host memory. `keepsCopy` keeps the copy, so that the buffer can be evicted again.
   */
  reload(buffer: StoredBuffer, keepsCopy = true): void {
    this.hostCopies.reload(buffer, keepsCopy);
  }

  /**
   * Recomputes a buffer, and first everything that this needs.
   *
   * @throws RematError `VALUE_GONE` if something is read that a plan has evicted for good
   */
  recompute(buffer: StoredBuffer): void {
    recompute(buffer, this);
  }

  /** Ends the pass: recomputes data that tensors still use and removes everything else, including recipes. */
  end(): void {
    try {
      for (const buffer of this.data.allBuffers())
        if (buffer.isUsed && !buffer.isEvictedForGood) this.recomputeUsed(buffer);
    } finally {
      this.data.clear();
    }
  }

  private recomputeUsed(buffer: StoredBuffer): void {
    if (buffer.isEvicted) this.recompute(buffer);
    for (const data of buffer.data) if (data.isUsed) this.replays.refresh(data);
  }
}

/** True if data is not a single buffer, as of a complex number. */
const isComplex = ({ buffer }: StoredData): boolean => buffer.storage === undefined;

/**
 * True if an output shares storage with a complex input. It must not be evicted, since that would also evict its
 * source. Backends that keep data in JavaScript are exempt: there each side refers to an array of its own.
 */
const isPartOfComplex = ({ buffer: { storage } }: StoredData, { inputTensors, backend }: OpDone): boolean =>
  storage !== undefined &&
  inputTensors.some((input) => input.dtype === "complex64" && storagesOf(input).includes(storage)) &&
  findBackend(backend).residency !== javascriptResidency;
