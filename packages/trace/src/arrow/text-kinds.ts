import type { ArrowColumn } from "./arrow-column.js";
import { type ColumnKind, type DecodingRun, type EncodingRun, RowError } from "./column-kind.js";
import type { ColumnData } from "./ipc-content.js";
import { int, plainColumn } from "./number-kinds.js";
import { decodeTexts, encodeTexts, isValid, validityOf } from "./utf8-column.js";

/** Numbers of names in a fixed list. Arrow stores the names. */
export function nameIn(names: readonly string[]): ColumnKind<Uint8Array> {
  return {
    field: { type: { kind: "utf8" }, indices: int(8, false) },
    dictionary: names,
    encode: (values) => plainColumn(values.length, values),
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
