import type { IndexColumn } from "../index-types.js";
import type { ArrowType } from "./arrow-field.js";
import { type ColumnKind, type DecodingRun, RowError } from "./column-kind.js";
import type { ColumnData } from "./ipc-content.js";
import type { TableName } from "./run-tables.js";
import { isValid } from "./utf8-column.js";

type IntType = Extract<ArrowType, { readonly kind: "int" }>;

/** Returns the type of an integer. */
export const int = (bits: IntType["bits"], isSigned = true): IntType => ({ kind: "int", bits, isSigned });

/** Returns a column without nulls and children. */
export function plainColumn(length: number, values: ArrayBufferView): ColumnData {
  return { length, nullCount: 0, buffers: [new Uint8Array(0), values], children: [] };
}

/** Throws the error for the first value that is not in `from … end - 1`. */
function checkRange(values: Int32Array | Uint16Array, from: number, end: number): void {
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if (value < from || value >= end)
      throw new RowError(
        row,
        end <= from
          ? `found ${value}, but the table that it refers to is empty`
          : `expected ${end - 1 === from ? from : `${from} to ${end - 1}`}, found ${value}`,
      );
  }
}

function int32Kind<T extends Int32Array>(from: number, end: (run: DecodingRun) => number): ColumnKind<T> {
  return {
    field: { type: int(32) },
    encode: (values) => plainColumn(values.length, values),
    decode(column, run) {
      const values = column.numbers(1, Int32Array, column.length);
      checkRange(values, from, end(run));
      return values as T;
    },
  };
}

/** Rows of a table. */
export function reference<I extends number>(table: TableName): ColumnKind<IndexColumn<I>> {
  return int32Kind(0, ({ counts }) => counts[table]);
}

/** Rows of a table, or -1 for none. */
export function optionalReference<I extends number>(table: TableName): ColumnKind<IndexColumn<I>> {
  return int32Kind(-1, ({ counts }) => counts[table]);
}

/** Whole numbers of 0 or more. */
export const count: ColumnKind<Int32Array> = int32Kind(0, () => 2 ** 31);

/** Whole numbers of 0 or more, or -1 for none. */
export const optionalCount: ColumnKind<Int32Array> = int32Kind(-1, () => 2 ** 31);

/** Bits, of which the lowest `width` can be set. */
export function bits(width: number): ColumnKind<Uint16Array> {
  return {
    field: { type: int(16, false) },
    encode: (values) => plainColumn(values.length, values),
    decode(column) {
      const values = column.numbers(1, Uint16Array, column.length);
      checkRange(values, 0, 2 ** width);
      return values;
    },
  };
}

/** Numbers of bytes, milliseconds or operations. NaN means unknown, if `canBeUnknown`. */
export function amount(unit: string, canBeUnknown = false): ColumnKind<Float64Array> {
  return {
    field: { type: { kind: "float64" } },
    encode: (values) => plainColumn(values.length, values),
    decode(column) {
      const values = column.numbers(1, Float64Array, column.length);
      for (let row = 0; row < values.length; row++) {
        const value = values[row];
        if (!(value >= 0 && value < Number.POSITIVE_INFINITY) && !(canBeUnknown && Number.isNaN(value)))
          throw new RowError(row, `expected a number of ${unit}, found ${value}`);
      }
      return values;
    },
  };
}

/** Any numbers. */
export const anyNumber: ColumnKind<Float64Array> = {
  field: { type: { kind: "float64" } },
  encode: (values) => plainColumn(values.length, values),
  decode: (column) => column.numbers(1, Float64Array, column.length),
};

/** Integers that a number represents exactly, from `least` on. Arrow stores them in 64 bits. */
export function integer(least: number): ColumnKind<Float64Array> {
  return {
    field: { type: int(64) },
    encode(values) {
      const halves = new Int32Array(2 * values.length);
      for (let i = 0; i < values.length; i++) {
        halves[2 * i] = values[i];
        halves[2 * i + 1] = Math.floor(values[i] / 2 ** 32);
      }
      return plainColumn(values.length, halves);
    },
    decode(column) {
      const halves = column.numbers(1, Int32Array, 2 * column.length);
      const values = new Float64Array(column.length);
      for (let row = 0; row < values.length; row++) {
        const value = (halves[2 * row] >>> 0) + halves[2 * row + 1] * 2 ** 32;
        if (!(value >= least && value <= Number.MAX_SAFE_INTEGER))
          throw new RowError(row, `expected an integer from ${least} to ${Number.MAX_SAFE_INTEGER}, found ${value}`);
        values[row] = value;
      }
      return values;
    },
  };
}

/** 0 or 1. */
export const flag: ColumnKind<Uint8Array> = {
  field: { type: { kind: "bool" } },
  encode(values) {
    const packed = new Uint8Array(Math.ceil(values.length / 8));
    for (let row = 0; row < values.length; row++) packed[row >> 3] |= values[row] << (row & 7);
    return plainColumn(values.length, packed);
  },
  decode(column) {
    const packed = column.bytes(1, Math.ceil(column.length / 8));
    return Uint8Array.from({ length: column.length }, (_, row) => (isValid(packed, row) ? 1 : 0));
  },
};
