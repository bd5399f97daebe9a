import type { ArrowColumn } from "./arrow-column.js";
import { ArrowError } from "./arrow-error.js";
import { type ArrowField, describeField } from "./arrow-field.js";
import { type ColumnKind, type DecodingRun, type EncodingRun, RowError } from "./column-kind.js";
import type { ColumnData } from "./ipc-content.js";

type Kinds = Readonly<Record<string, ColumnKind<unknown>>>;
/** A table of a trace: in Arrow a list of structs, with one list for each run. */
export interface Table<C> {
  readonly kinds: Kinds;
  encode(columns: C, run: EncodingRun): ColumnData;
  decode(column: ArrowColumn, run: DecodingRun): C;
}

/** An invalid value in a column of a table. */
export class CellError extends Error {
  readonly field: string;
  readonly row: number | undefined;

  constructor(field: string, row: number | undefined, detail: string) {
    super(detail);
    this.field = field;
    this.row = row;
  }
}

/** Describes a table with the columns `C` by their kinds. */
export function table<C extends { readonly count: number }>(
  kinds: {
    readonly [Name in Exclude<keyof C, "count">]: ColumnKind<C[Name]>;
  },
): Table<C> {
  const entries = Object.entries<ColumnKind<unknown>>(kinds);
  return {
    kinds,
    encode(columns, run) {
      const children = entries.map(([name, kind]) => kind.encode(columns[name as keyof C], run));
      const structs = { length: columns.count, nullCount: 0, buffers: [new Uint8Array(0)], children };
      const offsets = Int32Array.of(0, columns.count);
      return { length: 1, nullCount: 0, buffers: [new Uint8Array(0), offsets], children: [structs] };
    },
    decode(column, run) {
      const [structs] = column.children;
      const decoded = entries.map(([name, kind]) => [name, decodeColumn(structs, name, kind, run)]);
      return { ...Object.fromEntries(decoded), count: structs.length } as C;
    },
  };
}

/** Returns how many rows a table has for the only run of its batch. */
export function rowCount(column: ArrowColumn): number {
  const [structs] = column.children;
  if (column.length !== 1 || column.nullCount > 0 || column.offsets()[1] !== structs.length)
    throw new ArrowError("a record batch has more than one run. Write one for each");
  return structs.length;
}

function decodeColumn(structs: ArrowColumn, name: string, kind: ColumnKind<unknown>, run: DecodingRun): unknown {
  try {
    const column = structs.children.find(({ field }) => field.name === name);
    if (column === undefined) throw new ArrowError("it is missing");
    checkType(column, kind.field);
    if (column.length !== structs.length)
      throw new ArrowError(`it has ${column.length} rows, and its table has ${structs.length}`);
    return kind.decode(column, run);
  } catch (error) {
    if (error instanceof RowError) throw new CellError(name, error.row, error.message);
    if (error instanceof ArrowError || error instanceof RangeError) throw new CellError(name, undefined, error.message);
    throw error;
  }
}

/**
 * Checks that a column has the expected type, and no nulls unless they are allowed.
 *
 * @throws ArrowError
 */
export function checkType({ field, nullCount }: ArrowColumn, expected: Omit<ArrowField, "name">): void {
  const [wanted, found] = [describeField(expected), describeField(field)];
  if (wanted !== found) throw new ArrowError(`expected the type ${wanted}, found ${found}`);
  if (nullCount > 0 && expected.isNullable !== true) throw new ArrowError(`expected no nulls, found ${nullCount}`);
}
