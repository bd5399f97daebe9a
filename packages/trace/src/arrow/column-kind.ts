import type { ArrowColumn } from "./arrow-column.js";
import type { ArrowField } from "./arrow-field.js";
import type { ColumnData } from "./ipc-content.js";
import type { TableName } from "./run-tables.js";

/** Collects the texts of a dictionary while columns are encoded. */
export interface DictionaryWriter {
  /** Returns the position of a text in the dictionary. */
  readonly place: (text: string) => number;
}

/** The run whose columns are encoded. */
export interface EncodingRun {
  /** The strings of the trace. */
  readonly strings: readonly string[];
  /** Returns the dictionary of a kind of column, which all runs of a file share. */
  readonly dictionary: (kind: object) => DictionaryWriter;
}

/** The run whose columns are decoded. */
export interface DecodingRun {
  /** The number of rows in each table. */
  readonly counts: Readonly<Record<TableName, number>>;
  /** Returns the index of `text` in the strings of the trace, which it may be added to. */
  readonly string: (text: string) => number;
  /** Returns the texts of the dictionary of a column. */
  readonly dictionary: (column: ArrowColumn) => readonly string[];
}

/** The form of one column of a trace in Arrow. */
export interface ColumnKind<T> {
  /** The type, without the name of the column. */
  readonly field: Omit<ArrowField, "name">;
  /** The texts of its dictionary that are known in advance. Undefined if it has no dictionary. */
  readonly dictionary?: readonly string[];
  encode(values: T, run: EncodingRun): ColumnData;
  /**
   * Reads and checks the values.
   *
   * @throws RowError for an invalid value, ArrowError for a damaged column
   */
  decode(column: ArrowColumn, run: DecodingRun): T;
}

/** An invalid value in a row of a column. */
export class RowError extends Error {
  readonly row: number;

  constructor(row: number, detail: string) {
    super(detail);
    this.row = row;
  }
}
