import { forEachInput, type KernelInputs, type OpDone, type Storage, storagesOf } from "@remat/dispatch-hook";
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

/** What the ledger tells the policy that decides what is evicted and what is recomputed. @internal */
export interface LedgerListener {
  /** No tensor is on any data of the buffer any more, but recipes read it. */
  bufferUnused(buffer: StoredBuffer): void;
  /** A kernel is about to be replayed, for which there must be room. */
  replaying(recipe: Recipe): void;
  /** A buffer that is evicted is touched; true if the policy has recomputed it. */
  recomputing?(buffer: StoredBuffer): boolean;
  /** A buffer that can be recomputed is about to be evicted. */
  evicting?(buffer: StoredBuffer): void;
}

/**
 * All buffers of one forward and backward pass, and the kernel calls that made them: so that the data of any can be evicted, under living
 * tensors too, and recomputed by replaying kernels, with the same values to the bit.
 *
 * @internal
 */
export class Ledger {
  private readonly data: KnownData = new KnownData();
  private readonly listener: LedgerListener;
  private readonly fills = new Set<Storage>();
  /** What the op to come reads; kept from op to op, lest each makes a list. */
  private readonly locked: StoredData[] = [];
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

  /** True while a kernel is replayed, whose ops are none of the user's. */
  get isReplaying(): boolean {
    return this.replays.isRunning;
  }

  get allBuffers(): Iterable<StoredBuffer> {
    return this.data.allBuffers;
  }

  get(dataId: DataId): StoredData | undefined {
    return this.data.get(dataId);
  }

  /** What is known of a storage. */
  bufferOf(storage: Storage): StoredBuffer | undefined {
    return this.data.bufferOf(storage);
  }

  /** Takes down what an op has made, the `place`-th of the pass, and how. Returns its recipe, or undefined if it cannot be replayed or has made nothing. */
  note(op: OpDone, costMs: number, place: number): Recipe | undefined {
    const { outputs, inputTensors } = op;
    const sources: StoredData[] = [];
    for (const input of inputTensors) {
      const source = this.data.know(input);
      if (!sources.includes(source)) sources.push(source);
    }
    const made: (StoredData | undefined)[] = [];
    let isView = false;
    let canRepeat = !op.isOnHost && !op.isInAnyOrder && isRepeatable(op.kernel, op.backend);
    let count = 0;
    for (const output of outputs) {
      const known = this.data.get(output.dataId);
      if (known !== undefined) {
        known.isUsed = true;
        made.push(undefined);
        continue;
      }
      const data = this.data.know(output);
      count++;
      made.push(data);
      if (data.buffer.data.length > 1) isView = true;
      if (data.buffer.isHeld || isPartOfComplex(data, op)) canRepeat = false;
    }
    if (count === 0 || !canRepeat) return undefined;
    const recipe = recipeOfOp(op, { sources, outputs: made, isView, costMs, op: place });
    for (const data of made) if (data !== undefined) data.maker = recipe;
    for (const source of sources) source.readers.push(recipe);
    return recipe;
  }

  /**
   * An op is about to read `inputs`: none of them is evicted until `unlock`. Returns those that are known, until the next call; if they are to be noted, that is all of
   * them, and otherwise what JavaScript has made and nobody has read yet besides.
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

  /** What is locked is there from now on. */
  makeReadable(locked: readonly StoredData[]): void {
    for (const data of locked) if (data.needsReplay) this.makeDataReadable(data);
  }

  /** The op may begin. */
  unlock(locked: readonly StoredData[]): void {
    for (const { buffer } of locked) buffer.locks--;
  }

  /** Somebody is about to read `dataId`. */
  touch(dataId: DataId): void {
    const data = this.data.get(dataId);
    if (data?.needsReplay === true) this.makeDataReadable(data);
  }

  /** Whether one of the tensors lies in a buffer that is known. */
  hasBufferOf(tensors: readonly TensorInfo[]): boolean {
    return this.data.hasBufferOf(tensors);
  }

  /** A kernel is about to write to `input`: what was made of it is there, and neither that nor what becomes of it is recomputed. */
  writing(input: TensorInfo): void {
    const readers = this.data.know(input).buffer.data.flatMap((data) => data.readers);
    for (const output of readers.flatMap(({ outputs }) => outputs)) if (output !== undefined) this.hold(output.dataId);
    this.hold(input.dataId);
  }

  /** JavaScript has made a storage. */
  madeByJavaScript(storage: Storage): void {
    this.fills.add(storage);
  }

  /** Whether JavaScript has made what nobody has read yet. */
  private isFill(input: TensorInfo): boolean {
    return this.fills.size > 0 && storagesOf(input).some((storage) => this.fills.has(storage));
  }

  /** Values that JavaScript made can be told only until a kernel has read them. */
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

  /** A variable has taken over the data: it must be there, and stay. */
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

  /** The same for what nothing can recompute, though tensors live in it: for who knows that nobody reads it. */
  evictForGood(buffer: StoredBuffer): void {
    if (buffer.isHeld || buffer.isEvicted || buffer.locks > 0) return;
    buffer.isEvictedForGood = true;
    this.evict(buffer);
  }

  /**
   * Frees a buffer that nothing can recompute, and in which no tensor lives: what was made of it becomes as unrepeatable. Does nothing, and
   * returns false, if something that is evicted now would be missed: something a tensor lives in, unless `isOver` says that it is not read again.
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

  /** Replays a recipe, whose sources' buffers must be there, for those of its outputs that need it. */
  replay(recipe: Recipe): void {
    this.replays.run(recipe);
  }

  /** Moves back what host memory has of an evicted buffer; `keepsCopy`: so that it can be evicted again. */
  reload(buffer: StoredBuffer, keepsCopy = true): void {
    this.hostCopies.reload(buffer, keepsCopy);
  }

  /**
   * Recomputes a buffer, and before it whatever is needed for that.
   *
   * @throws RematError `VALUE_GONE` if something is read that a plan has evicted for good
   */
  recompute(buffer: StoredBuffer): void {
    recompute(buffer, this);
  }

  /** The pass is over: what tensors live in is there again, and everything else, recipes too, is gone. */
  end(): void {
    try {
      for (const buffer of this.data.allBuffers)
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

/**
 * On a part of a complex tensor, which is held: to evict the part is to evict what it would be recomputed from. Where data is JavaScript's, a part and what is made of it refer to an
 * array each by itself.
 */
const isPartOfComplex = ({ buffer: { storage } }: StoredData, { inputTensors, backend }: OpDone): boolean =>
  storage !== undefined &&
  inputTensors.some((input) => input.dtype === "complex64" && storagesOf(input).includes(storage)) &&
  findBackend(backend).residency !== javascriptResidency;
