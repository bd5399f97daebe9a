import type { StorageIndex, TensorIndex, TraceBuilder } from "@remat/trace";
import type { OracleFile } from "./oracle-file.js";

/** Maps the file's tensors and storages to those of the trace, and creates each on first use. */
export class TensorTable {
  private readonly builder: TraceBuilder;
  private readonly file: OracleFile;
  private readonly tensorIds: (TensorIndex | undefined)[] = [];
  private readonly storageIds: (StorageIndex | undefined)[] = [];
  private readonly untracked = new Set<number>();

  constructor(builder: TraceBuilder, file: OracleFile) {
    this.builder = builder;
    this.file = file;
  }

  hasStorage(storage: number): boolean {
    return this.storageIds[storage] !== undefined;
  }

  /**
   * Returns the trace's storage for a storage of the file. A new one is allocated with `category`. If it is not
   * `tracked`, because the run's memory tracker has not seen it yet, it takes no bytes until it is tracked.
   */
  storage(storage: number, category: number, tracked = true): StorageIndex {
    const found = this.file.storages[storage];
    if (found === undefined) throw new Error(`expected a storage below ${this.file.storages.length}, found ${storage}`);
    const known = this.storageIds[storage];
    if (known === undefined) {
      if (!tracked) this.untracked.add(storage);
      return (this.storageIds[storage] = this.builder.allocate(tracked ? found.bytes : 0, found.dev, category));
    }
    if (tracked && this.untracked.delete(storage)) {
      this.builder.resize(known, found.bytes);
      this.builder.categorize(known, category);
    }
    return known;
  }

  /** Returns the trace's tensor for a tensor of the file. */
  find(tensor: number, category: number, tracked = true): TensorIndex {
    const found = this.file.tensors[tensor];
    if (found === undefined) throw new Error(`expected a tensor below ${this.file.tensors.length}, found ${tensor}`);
    const storages = (typeof found.s === "number" ? [found.s] : found.s).map((s) => this.storage(s, category, tracked));
    return (this.tensorIds[tensor] ??= this.builder.tensor({
      storage: storages,
      dtype: found.dt,
      shape: found.sh,
      strides: found.st ?? undefined,
    }));
  }
}
