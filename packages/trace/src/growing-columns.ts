import { GrowableColumn, GrowableRows } from "./growable-column.js";
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

/** Columns of a group in `Trace`, while they grow. */
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

/** Empty columns. @internal */
export function newColumns(): GrowingColumns {
  return {
    calls: {
      module: new GrowableColumn(Int32Array),
      number: new GrowableColumn(Int32Array),
      parent: new GrowableColumn(Int32Array),
      tensorInput: new GrowableColumn(Uint8Array),
    },
    weights: {
      module: new GrowableColumn(Int32Array),
      parameters: new GrowableRows(Int32Array),
      buffers: new GrowableRows(Int32Array),
    },
    ops: {
      name: new GrowableColumn(Int32Array),
      phase: new GrowableColumn(Uint8Array),
      flags: new GrowableColumn(Uint16Array),
      stack: new GrowableColumn(Int32Array),
      scope: new GrowableColumn(Int32Array),
      forwardOp: new GrowableColumn(Int32Array),
      forwardScope: new GrowableColumn(Int32Array),
      inputs: new GrowableRows(Int32Array),
      outputs: new GrowableRows(Int32Array),
      writes: new GrowableRows(Int32Array),
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
      storage: new GrowableColumn(Int32Array),
      dtype: new GrowableColumn(Int32Array),
      shape: new GrowableRows(Float64Array),
      strides: new GrowableRows(Float64Array),
    },
    moduleEvents: {
      call: new GrowableColumn(Int32Array),
      phase: new GrowableColumn(Uint8Array),
      tensors: new GrowableRows(Int32Array),
    },
    saves: {
      op: new GrowableColumn(Int32Array),
      storage: new GrowableColumn(Int32Array),
      tensor: new GrowableColumn(Int32Array),
      as: new GrowableColumn(Uint8Array),
    },
    events: {
      kind: new GrowableColumn(Uint8Array),
      subject: new GrowableColumn(Int32Array),
      value: new GrowableColumn(Float64Array),
    },
  };
}

/** What the columns of `group` hold so far, without a copy. @internal */
export function viewColumns<T extends Readonly<Record<string, { view(): unknown }>>>(
  group: T,
): { [K in keyof T]: ReturnType<T[K]["view"]> } {
  return Object.fromEntries(Object.entries(group).map(([key, column]) => [key, column.view()])) as {
    [K in keyof T]: ReturnType<T[K]["view"]>;
  };
}
