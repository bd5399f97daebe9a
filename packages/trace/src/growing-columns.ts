import { GrowableColumn, GrowableRows } from "./growable-column.js";
import type { IndexColumn } from "./index-types.js";
import type {
  CallColumns,
  EventColumns,
  ModuleEventColumns,
  OpColumns,
  Rows,
  SaveColumns,
  StorageColumns,
  TensorColumns,
  WeightColumns,
} from "./trace.js";

type TypedArray = Float64Array | Int32Array | Uint16Array | Uint8Array;

/** The columns of a group in `Trace` while they grow. */
type Growing<T> = {
  readonly [K in keyof T]: T[K] extends Rows<infer A>
    ? GrowableRows<A>
    : T[K] extends TypedArray
      ? GrowableColumn<T[K]>
      : never;
};

/** The columns of a trace that is being recorded. @internal */
export interface GrowingColumns {
  readonly calls: Growing<Omit<CallColumns, "count">>;
  readonly weights: Growing<Omit<WeightColumns, "count">>;
  readonly ops: Growing<Omit<OpColumns, "count">>;
  readonly storages: Growing<Omit<StorageColumns, "count">>;
  readonly tensors: Growing<Omit<TensorColumns, "count" | "moreStorages">>;
  readonly moduleEvents: Growing<Omit<ModuleEventColumns, "count">>;
  readonly saves: Growing<Omit<SaveColumns, "count">>;
  readonly events: Growing<Omit<EventColumns, "count">>;
}

// A column of indices is an `Int32Array` at run time. Only its type says what the indices refer to.
const Indices = Int32Array as unknown as new (length: number) => IndexColumn<never>;
const indices = <I extends number>(): GrowableColumn<IndexColumn<I>> => new GrowableColumn<IndexColumn<I>>(Indices);
/** Empty rows of indices. @internal */
export const indexRows = <I extends number>(): GrowableRows<IndexColumn<I>> =>
  new GrowableRows<IndexColumn<I>>(Indices);

/** Empty columns. @internal */
export function newColumns(): GrowingColumns {
  return {
    calls: {
      module: indices(),
      number: new GrowableColumn(Int32Array),
      parent: indices(),
      tensorInput: new GrowableColumn(Uint8Array),
    },
    weights: {
      module: indices(),
      parameters: indexRows(),
      buffers: indexRows(),
    },
    ops: {
      name: new GrowableColumn(Int32Array),
      phase: new GrowableColumn(Uint8Array),
      flags: new GrowableColumn(Uint16Array),
      stack: new GrowableColumn(Int32Array),
      scope: new GrowableColumn(Int32Array),
      forwardOp: indices(),
      forwardScope: new GrowableColumn(Int32Array),
      inputs: indexRows(),
      outputs: indexRows(),
      writes: indexRows(),
      attributes: new GrowableColumn(Int32Array),
      line: new GrowableColumn(Int32Array),
      runtimeMs: new GrowableColumn(Float64Array),
      runtimeSource: new GrowableColumn(Uint8Array),
      runtimeSpreadMs: new GrowableColumn(Float64Array),
      runtimeRuns: new GrowableColumn(Int32Array),
      flops: new GrowableColumn(Float64Array),
      bytesRead: new GrowableColumn(Float64Array),
      bytesWritten: new GrowableColumn(Float64Array),
    },
    storages: {
      bytes: new GrowableColumn(Float64Array),
      device: new GrowableColumn(Int32Array),
      category: new GrowableColumn(Uint8Array),
    },
    tensors: {
      storage: indices(),
      dtype: new GrowableColumn(Int32Array),
      shape: new GrowableRows(Float64Array),
      strides: new GrowableRows(Float64Array),
    },
    moduleEvents: {
      call: indices(),
      phase: new GrowableColumn(Uint8Array),
      tensors: indexRows(),
    },
    saves: {
      op: indices(),
      storage: indices(),
      tensor: indices(),
      as: new GrowableColumn(Uint8Array),
    },
    events: {
      kind: new GrowableColumn(Uint8Array),
      subject: new GrowableColumn(Int32Array),
      value: new GrowableColumn(Float64Array),
    },
  };
}

/** Returns the current contents of the columns of `group` without a copy. @internal */
export function viewColumns<T extends Readonly<Record<string, { view(): unknown }>>>(
  group: T,
): { [K in keyof T]: ReturnType<T[K]["view"]> } {
  return Object.fromEntries(Object.entries(group).map(([key, column]) => [key, column.view()])) as {
    [K in keyof T]: ReturnType<T[K]["view"]>;
  };
}
