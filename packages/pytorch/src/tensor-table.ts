import type { TraceBuilder } from "@remat/trace";
import type { OracleFile } from "./oracle-file.js";

/** The file's tensors and storages as the trace's, each made when it is first met. */
export class TensorTable {
  private readonly builder: TraceBuilder;
  private readonly file: OracleFile;
  private readonly tensorIds: (number | undefined)[] = [];
  private readonly storageIds: (number | undefined)[] = [];

  constructor(builder: TraceBuilder, file: OracleFile) {
    this.builder = builder;
    this.file = file;
  }

  hasStorage(storage: number): boolean {
    return this.storageIds[storage] !== undefined;
  }

  /** The trace's storage for storage `storage` of the file; one that was not known is allocated with `category`. */
  storage(storage: number, category: number): number {
    const known = this.storageIds[storage];
    if (known !== undefined) return known;
    const found = this.file.storages[storage];
    if (found === undefined) throw new Error(`expected a storage below ${this.file.storages.length}, found ${storage}`);
    return (this.storageIds[storage] = this.builder.allocate(found.bytes, found.dev, category));
  }

  /** The trace's tensor for tensor `tensor` of the file. */
  find(tensor: number, category: number): number {
    const known = this.tensorIds[tensor];
    if (known !== undefined) return known;
    const found = this.file.tensors[tensor];
    if (found === undefined) throw new Error(`expected a tensor below ${this.file.tensors.length}, found ${tensor}`);
    const storages = typeof found.s === "number" ? [found.s] : found.s;
    return (this.tensorIds[tensor] = this.builder.tensor({
      storage: storages.map((storage) => this.storage(storage, category)),
      dtype: found.dt,
      shape: found.sh,
      strides: found.st ?? undefined,
    }));
  }
}
