import type { IndexColumn } from "../index-types.js";
import type { Rows } from "../trace.js";
import type { ArrowColumn } from "./arrow-column.js";
import { ArrowError } from "./arrow-error.js";
import type { ArrowType } from "./arrow-field.js";
import { type ColumnKind, type DecodingRun, type EncodingRun, RowError } from "./column-kind.js";
import type { TableName } from "./run-tables.js";
import { decodeTexts, encodeTexts, isValid, validityOf } from "./utf8-column.js";
import type { ColumnData } from "./write-ipc.js";

type IntType = Extract<ArrowType, { readonly kind: "int" }>;
const int = (bits: IntType["bits"], isSigned = true): IntType => ({ kind: "int", bits, isSigned });
const noBits = new Uint8Array(0);

/** Returns a column without nulls and children. */
function plain(length: number, values: ArrayBufferView): ColumnData {
  return { length, nullCount: 0, buffers: [noBits, values], children: [] };
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
          : `expected ${from} to ${end - 1}, found ${value}`,
      );
  }
}

function int32Kind<T extends Int32Array>(from: number, end: (run: DecodingRun) => number): ColumnKind<T> {
  return {
    field: { type: int(32) },
    encode: (values) => plain(values.length, values),
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
    encode: (values) => plain(values.length, values),
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
    encode: (values) => plain(values.length, values),
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
  encode: (values) => plain(values.length, values),
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
      return plain(values.length, halves);
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
    return plain(values.length, packed);
  },
  decode(column) {
    const packed = column.bytes(1, Math.ceil(column.length / 8));
    return Uint8Array.from({ length: column.length }, (_, row) => (isValid(packed, row) ? 1 : 0));
  },
};

/** Numbers of names in a fixed list. Arrow stores the names. */
export function nameIn(names: readonly string[]): ColumnKind<Uint8Array> {
  return {
    field: { type: { kind: "utf8" }, indices: int(8, false) },
    dictionary: names,
    encode: (values) => plain(values.length, values),
    decode(column, run) {
      const found = run.dictionary(column);
      const numbers = found.map((name) => names.indexOf(name));
      const values = column.numbers(1, Uint8Array, column.length);
      const isSame = numbers.every((known, place) => known === place);
      const decoded = isSame ? values : new Uint8Array(values.length);
      for (let row = 0; row < values.length; row++) {
        const place = values[row];
        const known = place < numbers.length ? numbers[place] : -1;
        if (known < 0) throw new RowError(row, `expected one of ${names.join(", ")}, found ${found[place] ?? place}`);
        if (!isSame) decoded[row] = known;
      }
      return decoded;
    },
  };
}

/** Indices into the strings of the trace, -1 for none. Arrow stores the texts of each column. */
export function sharedText({ isNullable = false, normalize }: TextOptions = {}): ColumnKind<Int32Array> {
  const kind: ColumnKind<Int32Array> = {
    field: { type: { kind: "utf8" }, indices: int(32), isNullable },
    dictionary: [],
    encode: (values, run) => encodeStrings(values, kind, run),
    decode: (column, run) => decodeStrings(column, isNullable, normalize ?? ((each) => each), run),
  };
  return kind;
}

interface TextOptions {
  readonly isNullable?: boolean;
  /** Checks a text and returns it in the form that the trace has. */
  readonly normalize?: (text: string) => string;
}

function encodeStrings(values: Int32Array, kind: object, { strings, dictionary }: EncodingRun): ColumnData {
  const { place } = dictionary(kind);
  const places = new Int32Array(strings.length).fill(-1);
  const indices = new Int32Array(values.length);
  for (let row = 0; row < values.length; row++) {
    const string = values[row];
    if (string < 0) continue;
    if (places[string] < 0) places[string] = place(strings[string]);
    indices[row] = places[string];
  }
  const isNull = (row: number): boolean => values[row] < 0;
  return { length: values.length, ...validityOf(values.length, isNull, [indices]), children: [] };
}

function decodeStrings(
  column: ArrowColumn,
  isNullable: boolean,
  normalize: (text: string) => string,
  run: DecodingRun,
): Int32Array {
  const texts = run.dictionary(column);
  const indices = column.numbers(1, Int32Array, column.length);
  const validity = column.validity();
  const strings = new Int32Array(texts.length).fill(-1);
  const values = new Int32Array(column.length);
  for (let row = 0; row < values.length; row++) {
    if (validity !== undefined && !isValid(validity, row)) {
      if (!isNullable) throw new RowError(row, "expected a text, found a null");
      values[row] = -1;
      continue;
    }
    const place = indices[row];
    if (!(place >= 0 && place < texts.length))
      throw new RowError(row, `expected one of the ${texts.length} texts of its dictionary, found number ${place}`);
    if (strings[place] < 0) strings[place] = run.string(normalizeAt(row, texts[place], normalize));
    values[row] = strings[place];
  }
  return values;
}

function normalizeAt(row: number, each: string, normalize: (text: string) => string): string {
  try {
    return normalize(each);
  } catch (error) {
    throw new RowError(row, (error as Error).message);
  }
}

/** Texts that differ in most rows. */
export const distinctText: ColumnKind<readonly string[]> = {
  field: { type: { kind: "utf8" } },
  encode: (values) => encodeTexts(values),
  decode(column) {
    const values = decodeTexts(column);
    const missing = values.indexOf(undefined);
    if (missing >= 0) throw new RowError(missing, "expected a text, found a null");
    return values as string[];
  },
};

/** Texts that differ in most rows, or undefined. */
export const optionalText: ColumnKind<readonly (string | undefined)[]> = {
  field: { type: { kind: "utf8" }, isNullable: true },
  encode: (values) => encodeTexts(values),
  decode: (column) => decodeTexts(column),
};

/** Names in a fixed list, or undefined. Arrow stores texts, because most rows have none. */
export function optionalName<T extends string>(names: readonly T[]): ColumnKind<readonly (T | undefined)[]> {
  return {
    ...optionalText,
    decode(column) {
      const values = decodeTexts(column);
      const wrong = values.findIndex((name) => name !== undefined && !(names as readonly string[]).includes(name));
      if (wrong >= 0) throw new RowError(wrong, `expected one of ${names.join(", ")}, found ${values[wrong]}`);
      return values as (T | undefined)[];
    },
  };
}

/** Lists of values. */
export function rows<T extends Int32Array | Float64Array>(item: ColumnKind<T>): ColumnKind<Rows<T>> {
  return {
    field: { type: { kind: "list", item: { name: "item", ...item.field } } },
    encode({ start, values }, run) {
      const children = [item.encode(values, run)];
      return { length: start.length - 1, nullCount: 0, buffers: [noBits, start], children };
    },
    decode(column, run) {
      const start = column.offsets();
      const [child] = column.children;
      if (start[column.length] !== child.length)
        throw new ArrowError(`its lists end at ${start[column.length]} of ${child.length}`);
      try {
        return { start, values: item.decode(child, run) };
      } catch (error) {
        if (!(error instanceof RowError)) throw error;
        throw new RowError(rowOf(start, error.row), error.message);
      }
    },
  };
}

/** Lists of values, or undefined. */
export function optionalRows<I extends number>(
  item: ColumnKind<IndexColumn<I>>,
): ColumnKind<readonly (readonly I[] | undefined)[]> {
  const lists = rows(item);
  return {
    field: { ...lists.field, isNullable: true },
    encode(values, run) {
      const start = new Int32Array(values.length + 1);
      values.forEach((list, row) => (start[row + 1] = start[row] + (list?.length ?? 0)));
      const flat = Int32Array.from(values.flatMap((list) => list ?? [])) as IndexColumn<I>;
      const { buffers, ...column } = lists.encode({ start, values: flat }, run);
      return { ...column, ...validityOf(values.length, (row) => values[row] === undefined, buffers.slice(1)) };
    },
    decode(column, run) {
      const { start, values } = lists.decode(column, run);
      const validity = column.validity();
      return Array.from({ length: column.length }, (_, row) =>
        validity === undefined || isValid(validity, row)
          ? Array.from(values.subarray(start[row], start[row + 1]))
          : undefined,
      );
    },
  };
}

/** Returns the list that has the value at `position`. */
function rowOf(start: Int32Array, position: number): number {
  let row = 0;
  while (start[row + 1] <= position) row++;
  return row;
}
