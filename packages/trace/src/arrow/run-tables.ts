import type { IndexColumn, StorageIndex, TensorIndex } from "../index-types.js";
import type {
  CallColumns,
  EventColumns,
  ModuleEventColumns,
  OpColumns,
  Rows,
  SaveColumns,
  Scope,
  StorageColumns,
  TensorColumns,
  TraceParts,
  WeightColumns,
} from "../trace.js";

/** The tables of a run, in the order of the columns of a file. They are those of `Trace`, all as columns. */
export interface RunTables {
  readonly ops: OpColumns;
  readonly storages: StorageColumns;
  readonly tensors: Omit<TensorColumns, "moreStorages">;
  /** The storages of tensors that have several. */
  readonly sharedTensors: SharedTensorColumns;
  /** The subject of a mark is a row of `marks`. */
  readonly events: EventColumns;
  readonly modules: ModuleColumns;
  readonly calls: CallColumns;
  readonly stacks: { readonly count: number; readonly calls: TraceParts["stacks"] };
  readonly scopes: ScopeColumns;
  readonly moduleEvents: ModuleEventColumns;
  readonly saves: SaveColumns;
  readonly weights: WeightColumns;
  /** The names of marks, each of them once. */
  readonly marks: { readonly count: number; readonly name: readonly string[] };
}

/** The name of a table. */
export type TableName = keyof RunTables;

export interface SharedTensorColumns {
  readonly count: number;
  readonly tensor: IndexColumn<TensorIndex>;
  readonly storages: Rows<IndexColumn<StorageIndex>>;
}

export interface ModuleColumns {
  readonly count: number;
  readonly fqn: readonly string[];
  readonly kind: readonly string[];
  readonly leaf: Uint8Array;
}

/** The columns of scopes. Each has a value or undefined in every row. */
export type ScopeColumns = { readonly count: number; readonly parent: Int32Array } & {
  readonly [Name in Exclude<keyof Scope, "parent">]-?: readonly Scope[Name][];
};
