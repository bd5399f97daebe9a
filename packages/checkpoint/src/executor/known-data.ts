import { isVariable, type Storage, storagesOf } from "@remat/dispatch-hook";
import { pinData, unpinData } from "@remat/dispatch-hook/residency";
import type { DataId, TensorInfo } from "@tensorflow/tfjs-core";
import { type Recipe, StoredBuffer, StoredData } from "./stored-data.js";

/**
 * The buffers of a pass, their `DataId`s, and the recipes that make them. A pin on each `DataId` keeps inputs of
 * recipes alive after their last tensor is disposed, as long as recomputing something may need them.
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

  /** True if one of the tensors uses a known buffer. */
  hasBufferOf(tensors: readonly TensorInfo[]): boolean {
    for (const tensor of tensors) for (const storage of storagesOf(tensor)) if (this.buffers.has(storage)) return true;
    return false;
  }

  /** Returns the data of a tensor, and records it if it is new. */
  know(tensor: TensorInfo): StoredData {
    const { dataId } = tensor;
    let data = this.byDataId.get(dataId);
    if (data !== undefined) return data;
    const storages = storagesOf(tensor);
    // A complex number on the cpu backend is two buffers, and a string has no size.
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

  /** Makes `data` impossible to recompute. */
  forgetMaker(data: StoredData): void {
    const { maker } = data;
    if (maker === undefined) return;
    data.maker = undefined;
    maker.outputs[maker.outputs.indexOf(data)] = undefined;
    this.endIfIdle(maker);
  }

  /** Removes data that is no longer needed, and everything that only served to recompute it. */
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

  /** Sources that become unnecessary once no output of `recipe` is needed. */
  private sourcesFreedBy(recipe: Recipe): StoredData[] {
    if (recipe.outputs.some((output) => output !== undefined)) return [];
    return recipe.sources.filter(
      (source) => source.removeReader(recipe) && source.readers.length === 0 && !source.isUsed,
    );
  }

  /** Releases all pins and forgets everything. */
  clear(): void {
    for (const { dataId } of this.byDataId.values()) unpinData(dataId);
    this.byDataId.clear();
    this.buffers.clear();
  }
}
