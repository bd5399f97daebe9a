import { eachStorageOf, isVariable, type Storage } from "@remat/dispatch-hook";
import { pinData, unpinData } from "@remat/dispatch-hook/residency";
import type { DataId, TensorInfo } from "@tensorflow/tfjs-core";
import { type Recipe, StoredBuffer, type StoredData } from "./stored-data.js";

/**
 * Property of a `DataId` for its data, and of a storage for its buffer. Maps with as many keys would be rebuilt all the
 * time, as ops add and remove keys. Only one pass has a ledger at a time.
 */
const storedKey = Symbol("remat.stored");

type MarkedDataId = DataId & { [storedKey]?: StoredData | undefined };
type MarkedStorage = Storage & { [storedKey]?: StoredBuffer | undefined };

/** A program may pass a tensor whose `dataId` is not an object. The engine rejects it with its own error. */
function mark(dataId: MarkedDataId, data: StoredData | undefined): void {
  if (typeof dataId === "object" && dataId !== null) dataId[storedKey] = data;
}

/**
 * The buffers of a pass, their `DataId`s, and the recipes that make them. A pin on each `DataId` keeps inputs of
 * recipes alive after their last tensor is disposed, as long as recomputing something may need them.
 *
 * Noting and removing data allocates no lists, since it happens at every op.
 *
 * @internal
 */
export class KnownData {
  /** The buffers are linked in the order in which they became known. */
  private first: StoredBuffer | undefined;
  private last: StoredBuffer | undefined;
  /** How many storages the tensor has that was looked at last, and one of them. */
  private storageCount = 0;
  private storage: MarkedStorage | undefined;
  private hasFound = false;
  /** Data that is about to be removed. */
  private readonly going: StoredData[] = [];

  /** All buffers. While it is iterated, buffers may be added and removed. */
  *allBuffers(): Iterable<StoredBuffer> {
    for (let buffer = this.first; buffer !== undefined; buffer = buffer.next) if (buffer.data.length > 0) yield buffer;
  }

  get(dataId: DataId): StoredData | undefined {
    return (dataId as MarkedDataId | undefined)?.[storedKey];
  }

  bufferOf(storage: Storage): StoredBuffer | undefined {
    return (storage as MarkedStorage)[storedKey];
  }

  /** True if one of the tensors uses a known buffer. */
  hasBufferOf(tensors: readonly TensorInfo[]): boolean {
    this.hasFound = false;
    for (const tensor of tensors) eachStorageOf(tensor, this.find);
    return this.hasFound;
  }

  private readonly find = (storage: Storage): void => {
    if (this.bufferOf(storage) !== undefined) this.hasFound = true;
  };

  private readonly count = (storage: Storage): void => {
    this.storageCount++;
    this.storage = storage;
  };

  /** Returns the data of a tensor, and records it if it is new. */
  know(tensor: TensorInfo): StoredData {
    const { dataId } = tensor;
    const known = this.get(dataId);
    if (known !== undefined) return known;
    this.storageCount = 0;
    eachStorageOf(tensor, this.count);
    // A complex number on the cpu backend is two buffers, and a string has no size.
    const isPlain = this.storageCount === 1 && tensor.dtype !== "complex64" && tensor.dtype !== "string";
    const storage = isPlain ? this.storage : undefined;
    const data = storage?.[storedKey]?.add(dataId) ?? this.addBuffer(storage, dataId);
    if (storage?.fresh !== true || isVariable(tensor)) data.buffer.isHeld = true;
    mark(dataId, data);
    pinData(dataId);
    return data;
  }

  private addBuffer(storage: MarkedStorage | undefined, dataId: DataId): StoredData {
    const buffer = new StoredBuffer(storage, dataId);
    if (storage !== undefined) storage[storedKey] = buffer;
    const { last } = this;
    buffer.previous = last;
    if (last === undefined) this.first = buffer;
    else last.next = buffer;
    this.last = buffer;
    return buffer.data[0];
  }

  private removeBuffer({ storage, previous, next }: StoredBuffer): void {
    if (storage !== undefined) (storage as MarkedStorage)[storedKey] = undefined;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
  }

  /** Makes `data` impossible to recompute. */
  forgetMaker(data: StoredData): void {
    const { maker } = data;
    if (maker === undefined) return;
    data.maker = undefined;
    this.outputGone(maker, data);
    this.removeGoing();
  }

  /** Removes data that is no longer needed, and everything that only served to recompute it. */
  remove(data: StoredData): void {
    this.going.push(data);
    this.removeGoing();
  }

  private removeGoing(): void {
    const { going } = this;
    for (let next = going.pop(); next !== undefined; next = going.pop()) {
      const { buffer, maker, dataId } = next;
      mark(dataId, undefined);
      buffer.remove(next);
      if (buffer.data.length === 0) this.removeBuffer(buffer);
      unpinData(dataId);
      if (maker !== undefined) this.outputGone(maker, next);
    }
  }

  /** Once no output of a recipe is needed, sources that only the recipe reads go as well. */
  private outputGone(recipe: Recipe, gone: StoredData): void {
    const { outputs } = recipe;
    outputs[outputs.indexOf(gone)] = undefined;
    for (const output of outputs) if (output !== undefined) return;
    for (const source of recipe.sources)
      if (source.removeReader(recipe) && source.readers.length === 0 && !source.isUsed) this.going.push(source);
  }

  /** Releases all pins and forgets everything. */
  clear(): void {
    for (const { data, storage } of this.allBuffers()) {
      if (storage !== undefined) (storage as MarkedStorage)[storedKey] = undefined;
      for (const { dataId } of data) {
        mark(dataId, undefined);
        unpinData(dataId);
      }
    }
    this.first = this.last = undefined;
  }
}
