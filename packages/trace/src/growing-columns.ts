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

// The constructors at the time when this module is loaded. Fake mode replaces the global ones by slower ones.
const [Ints, Words, Bytes, Doubles] = [Int32Array, Uint16Array, Uint8Array, Float64Array];

// A column of indices is an `Int32Array` at run time. Only its type says what the indices refer to.
const Indices = Ints as unknown as new (length: number) => IndexColumn<never>;
const indices = <I extends number>(): GrowableColumn<IndexColumn<I>> => new GrowableColumn<IndexColumn<I>>(Indices);
/** Empty rows of indices. @internal */
export const indexRows = <I extends number>(): GrowableRows<IndexColumn<I>> =>
  new GrowableRows<IndexColumn<I>>(Indices);

/** Empty columns. @internal */
export function newColumns(): GrowingColumns {
  return {
    calls: {
      module: indices(),
      number: new GrowableColumn(Ints),
      parent: indices(),
      tensorInput: new GrowableColumn(Bytes),
    },
    weights: {
      module: indices(),
      parameters: indexRows(),
      buffers: indexRows(),
    },
    ops: {
      name: new GrowableColumn(Ints),
      phase: new GrowableColumn(Bytes),
      flags: new GrowableColumn(Words),
      stack: new GrowableColumn(Ints),
      scope: new GrowableColumn(Ints),
      forwardOp: indices(),
      forwardScope: new GrowableColumn(Ints),
      inputs: indexRows(),
      outputs: indexRows(),
      writes: indexRows(),
      attributes: new GrowableColumn(Ints),
      line: new GrowableColumn(Ints),
      runtimeMs: new GrowableColumn(Doubles),
      runtimeSource: new GrowableColumn(Bytes),
      runtimeSpreadMs: new GrowableColumn(Doubles),
      runtimeRuns: new GrowableColumn(Ints),
      flops: new GrowableColumn(Doubles),
      bytesRead: new GrowableColumn(Doubles),
      bytesWritten: new GrowableColumn(Doubles),
    },
    storages: {
      bytes: new GrowableColumn(Doubles),
      device: new GrowableColumn(Ints),
      category: new GrowableColumn(Bytes),
    },
    tensors: {
      storage: indices(),
      dtype: new GrowableColumn(Ints),
      shape: new GrowableRows(Doubles),
      strides: new GrowableRows(Doubles),
    },
    moduleEvents: {
      call: indices(),
      phase: new GrowableColumn(Bytes),
      tensors: indexRows(),
    },
    saves: {
      op: indices(),
      storage: indices(),
      tensor: indices(),
      as: new GrowableColumn(Bytes),
    },
    events: {
      kind: new GrowableColumn(Bytes),
      subject: new GrowableColumn(Ints),
      value: new GrowableColumn(Doubles),
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
