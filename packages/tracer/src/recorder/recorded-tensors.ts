import { isVariable, type Storage, storagesOf } from "@remat/dispatch-hook";
import { Category, Phase, type TraceBuilder } from "@remat/trace";
import type { Tensor, TensorInfo, Variable } from "@tensorflow/tfjs-core";
import { SequenceIndex } from "./sequence-index.js";

/** Tensors and storages of a trace during recording, with the categories of the storages (T2, T4). @internal */
export class RecordedTensors {
  private readonly builder: TraceBuilder;
  private readonly storageRows = new SequenceIndex();
  private readonly tensorRows = new SequenceIndex();
  /** Variables change their data, so their rows are keyed by data. */
  private readonly variableRows = new WeakMap<object, number>();
  private readonly variableCategories = new WeakMap<Variable, number>();
  /** Category of each storage. */
  private readonly categories: number[] = [];
  /** First storage of each tensor. */
  private readonly storages: number[] = [];
  /** Rows of storages that existed before and that no recorded op has read yet. */
  private readonly unread = new Set<number>();

  constructor(builder: TraceBuilder) {
    this.builder = builder;
  }

  /** Returns the first storage of the tensor in `row`. */
  storageOf(row: number): number {
    return this.storages[row];
  }

  /** Returns a tensor's row, and adds it if it is new. `phase` decides the category of data that existed before. */
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

  /** Adds existing data of unknown category. */
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

  /** Sets the category of `tensor`. For a variable it also applies after later assignments. */
  know(tensor: Tensor, category: number): void {
    if (isVariable(tensor)) this.variableCategories.set(tensor, category);
    if (!tensor.isDisposed) this.become(tensor, category);
  }

  /** Sets the category of the storages of `tensor` that are not known yet. */
  find(tensor: Tensor, category: number): void {
    for (const storage of storagesOf(tensor)) this.storageRow(storage, category);
  }

  /** True if the storages of `tensor` are known and have that category. */
  isOf(tensor: Tensor, category: number): boolean {
    return storagesOf(tensor).every((storage) => this.categories[this.storageRow(storage, category)] === category);
  }

  /** Changes the category of the storages of `tensor` if it was one of `from`. Default: any. */
  become(tensor: Tensor, category: number, from?: readonly number[]): void {
    for (const storage of storagesOf(tensor)) {
      const row = this.storageRow(storage, category);
      const now = this.categories[row];
      if (now === category || from?.includes(now) === false) continue;
      this.categories[row] = category;
      this.builder.categorize(row, category);
    }
  }

  /**
   * A variable is a weight or, if it is not trainable, a buffer such as statistics. Variables made by an optimizer are
   * its state.
   */
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

  /** The first reader decides the category. */
  private read(storage: Storage, category: number): void {
    const row = this.storageRows.get(storage.id);
    if (!this.unread.delete(row) || this.categories[row] === category) return;
    this.categories[row] = category;
    this.builder.categorize(row, category);
  }
}

/** Category of data that existed before: constants of an optimizer, otherwise input from the user. */
const foundCategory = (phase: number): number => (phase === Phase.optimizer ? Category.optimizerState : Category.input);
