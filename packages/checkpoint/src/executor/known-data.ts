import { isVariable, type Storage, storagesOf } from "@remat/dispatch-hook";
import { pinData, unpinData } from "@remat/dispatch-hook/residency";
import type { DataId, TensorInfo } from "@tensorflow/tfjs-core";
import { type Recipe, StoredBuffer, StoredData } from "./stored-data.js";

/**
 * The buffers of a pass, with the `DataId`s that live in them, and which recipe makes each of what. A pin on every `DataId` holds what recipes read after its last tensor is gone, as
 * long as something that may have to be recomputed depends on it.
 *
 * @internal
 */
export class KnownData {
  private readonly buffers = new Map<object, StoredBuffer>();
  private readonly byDataId = new Map<DataId, StoredData>();

  get allBuffers(): Iterable<StoredBuffer> {
    return this.buffers.values();
  }

  get(dataId: DataId): StoredData | undefined {
    return this.byDataId.get(dataId);
  }

  bufferOf(storage: Storage): StoredBuffer | undefined {
    return this.buffers.get(storage);
  }

  /** Whether one of the tensors lies in a buffer that is known. */
  hasBufferOf(tensors: readonly TensorInfo[]): boolean {
    for (const tensor of tensors) for (const storage of storagesOf(tensor)) if (this.buffers.has(storage)) return true;
    return false;
  }

  /** What a tensor is on, which is known from now on. */
  know(tensor: TensorInfo): StoredData {
    const { dataId } = tensor;
    let data = this.byDataId.get(dataId);
    if (data !== undefined) return data;
    const storages = storagesOf(tensor);
    // A complex number on cpu is two buffers; a text has no size.
    const isPlain = storages.length === 1 && tensor.dtype !== "complex64" && tensor.dtype !== "string";
    const key = isPlain ? storages[0] : dataId;
    let buffer = this.buffers.get(key);
    if (buffer === undefined) {
      buffer = new StoredBuffer(isPlain ? storages[0] : undefined, key);
      this.buffers.set(key, buffer);
    }
    if (!isPlain || !storages[0].fresh || isVariable(tensor)) buffer.isHeld = true;
    data = new StoredData(dataId, buffer);
    buffer.data.push(data);
    this.byDataId.set(dataId, data);
    pinData(dataId);
    return data;
  }

  /** From now on nothing can recompute `data`. */
  forgetMaker(data: StoredData): void {
    const { maker } = data;
    if (maker === undefined) return;
    data.maker = undefined;
    maker.outputs[maker.outputs.indexOf(data)] = undefined;
    this.endIfIdle(maker);
  }

  /** Nobody needs `data` any more: it goes, and with it what only served to recompute it. */
  remove(data: StoredData): void {
    const going = [data];
    for (let next = going.pop(); next !== undefined; next = going.pop()) {
      const { buffer, maker, dataId } = next;
      this.byDataId.delete(dataId);
      buffer.data.splice(buffer.data.indexOf(next), 1);
      if (buffer.data.length === 0) this.buffers.delete(buffer.key);
      unpinData(dataId);
      if (maker === undefined) continue;
      maker.outputs[maker.outputs.indexOf(next)] = undefined;
      going.push(...this.sourcesFreedBy(maker));
    }
  }

  private endIfIdle(recipe: Recipe): void {
    for (const source of this.sourcesFreedBy(recipe)) this.remove(source);
  }

  /** What nobody needs any more once `recipe` makes nothing that anybody needs. */
  private sourcesFreedBy(recipe: Recipe): StoredData[] {
    if (recipe.outputs.some((output) => output !== undefined)) return [];
    return recipe.sources.filter(
      (source) => source.removeReader(recipe) && source.readers.length === 0 && !source.isUsed,
    );
  }

  /** Holds nothing any more. */
  clear(): void {
    for (const { dataId } of this.byDataId.values()) unpinData(dataId);
    this.byDataId.clear();
    this.buffers.clear();
  }
}
