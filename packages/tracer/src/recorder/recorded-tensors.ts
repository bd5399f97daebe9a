import { isVariable, type Storage, storagesOf } from "@remat/dispatch-hook";
import { Category, Phase, type TraceBuilder } from "@remat/trace";
import type { Tensor, TensorInfo, Variable } from "@tensorflow/tfjs-core";
import { SequenceIndex } from "./sequence-index.js";

/** The tensors and storages of a trace that is being recorded, and what the storages are for (T2, T4). @internal */
export class RecordedTensors {
  private readonly builder: TraceBuilder;
  private readonly storageRows = new SequenceIndex();
  private readonly tensorRows = new SequenceIndex();
  /** Variables change their data, so their rows go by data. */
  private readonly variableRows = new WeakMap<object, number>();
  private readonly variableCategories = new WeakMap<Variable, number>();
  /** By storage. */
  private readonly categories: number[] = [];
  /** By tensor. */
  private readonly storages: number[] = [];
  /** Rows of storages that were there before, and that nothing recorded has read yet. */
  private readonly unread = new Set<number>();

  constructor(builder: TraceBuilder) {
    this.builder = builder;
  }

  /** The (first) storage of the tensor in `row`. */
  storageOf(row: number): number {
    return this.storages[row];
  }

  /** A tensor's row, made at first sight; `phase` tells what data may be for that was there before. */
  row(tensor: TensorInfo & { readonly id?: number }, phase: number): number {
    const variable = isVariable(tensor);
    const known = variable ? this.variableRows.get(tensor.dataId) : this.tensorRows.get(tensor.id ?? -1);
    if (known !== undefined && known >= 0) return known;
    const category = variable ? this.categoryOf(tensor, phase) : foundCategory(phase);
    const storage = this.rowsOfStorages(tensor, category);
    const row = this.builder.tensor({ storage, dtype: tensor.dtype, shape: tensor.shape });
    this.storages[row] = typeof storage === "number" ? storage : storage[0];
    if (variable) this.variableRows.set(tensor.dataId, row);
    else if (tensor.id !== undefined) this.tensorRows.set(tensor.id, row);
    return row;
  }

  storageRow(storage: Storage, category: number): number {
    let row = this.storageRows.get(storage.id);
    if (row < 0) {
      row = this.builder.allocate(storage.bytes, this.builder.header.device, category);
      this.storageRows.set(storage.id, row);
      this.categories[row] = category;
    }
    return row;
  }

  /** Data that was there before, of which nobody has said what it is for. */
  hold(storage: Storage): void {
    if (this.storageRows.get(storage.id) < 0) this.unread.add(this.storageRow(storage, Category.input));
  }

  free(storage: Storage): void {
    const row = this.storageRows.get(storage.id);
    if (row >= 0) this.builder.free(row);
  }

  resize(storage: Storage, bytes: number): void {
    const row = this.storageRows.get(storage.id);
    if (row >= 0) this.builder.resize(row, bytes);
  }

  /** `tensor` is of this category; a variable also after it has been assigned. */
  know(tensor: Tensor, category: number): void {
    if (isVariable(tensor)) this.variableCategories.set(tensor, category);
    if (!tensor.isDisposed) this.become(tensor, category);
  }

  /** The storages of `tensor` are of this category, but for those that are known already. */
  find(tensor: Tensor, category: number): void {
    for (const storage of storagesOf(tensor)) this.storageRow(storage, category);
  }

  /** Whether the storages of `tensor` are known, and of that category. */
  isOf(tensor: Tensor, category: number): boolean {
    return storagesOf(tensor).every((storage) => this.categories[this.storageRow(storage, category)] === category);
  }

  /** The storages of `tensor` change to `category`, if they were of one of `from` (left out: of any). */
  become(tensor: Tensor, category: number, from?: readonly number[]): void {
    for (const storage of storagesOf(tensor)) {
      const row = this.storageRow(storage, category);
      const now = this.categories[row];
      if (now === category || from?.includes(now) === false) continue;
      this.categories[row] = category;
      this.builder.categorize(row, category);
    }
  }

  /** A variable is a weight, or if it cannot be trained statistics; what an optimizer makes for itself is its state. */
  categoryOf(variable: Variable, phase: number): number {
    let category = this.variableCategories.get(variable);
    if (category === undefined) {
      const untrained = phase === Phase.optimizer ? Category.optimizerState : Category.buffer;
      category = variable.trainable ? Category.parameter : untrained;
      this.variableCategories.set(variable, category);
    }
    return category;
  }

  private rowsOfStorages(tensor: TensorInfo, category: number): number | number[] {
    const storages = storagesOf(tensor);
    if (this.unread.size > 0) for (const storage of storages) this.read(storage, category);
    if (storages.length === 1) return this.storageRow(storages[0], category);
    if (storages.length === 0) return this.builder.allocate(0, this.builder.header.device, Category.other);
    return storages.map((storage) => this.storageRow(storage, category));
  }

  /** Who first reads it tells what it is for. */
  private read(storage: Storage, category: number): void {
    const row = this.storageRows.get(storage.id);
    if (!this.unread.delete(row) || this.categories[row] === category) return;
    this.categories[row] = category;
    this.builder.categorize(row, category);
  }
}

/** Of data that was there before anybody watched: an optimizer's constants, else what the user brought. */
const foundCategory = (phase: number): number => (phase === Phase.optimizer ? Category.optimizerState : Category.input);
