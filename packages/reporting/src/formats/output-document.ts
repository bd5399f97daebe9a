import type { CsvCell as Cell } from "@remat/trace/emit";
import type { Facts } from "../verdict/fact-lines.js";

/**
 * Output of a command or a view, independent of a format. Each format shows the parts that it can. Parts are computed
 * when they are requested.
 */
export interface OutputDocument {
  /** Returns the content for people, in reading order. */
  parts(): readonly DocumentPart[];
  /** Returns the content for spreadsheets: one table of plain values, with one row for each item of the document. */
  records(): DocumentRecords;
  /** Returns the complete content for programs, as a JSON value. */
  value(): unknown;
  /** True if `value` contains lists too long to print one element per line. */
  readonly isLong?: boolean;
}

/** Plain values under names that include the unit: bytes, milliseconds and shares are numbers. */
export interface DocumentRecords {
  readonly columns: readonly string[];
  /** One list of cells for each row, in the order of `columns`. */
  readonly rows: Iterable<readonly Cell[]>;
}

/** A part of a document for people. Names in it may contain any characters. */
export type DocumentPart = TextPart | FactsPart | TablePart | ListingPart;

/** Lines that belong together. */
export interface TextPart {
  readonly kind: "text";
  readonly lines: readonly string[];
}

/** Facts on one line. If the line is too long, it is broken between two facts. */
export interface FactsPart extends Facts {
  readonly kind: "facts";
}

/** A table of formatted quantities. */
export interface TablePart {
  readonly kind: "table";
  readonly title?: string;
  readonly headers: readonly string[];
  /** One list of cells for each row, in the order of `headers`. */
  readonly rows: readonly (readonly string[])[];
  /**
   * Priority of each column. If the table is too wide, the columns with the lowest priority are dropped first. The
   * first column always stays. By default the last columns are dropped first.
   */
  readonly worth?: readonly number[];
  /**
   * Headers of columns with long names. The beginning of these names may be cut off if the table is too wide. By
   * default the header of the first column.
   */
  readonly names?: readonly string[];
  /** Header of the last column, if that column contains sentences, which may wrap onto several lines. */
  readonly wraps?: string;
  /** A remark shown under the table. */
  readonly remark?: string | undefined;
}

/** Text that is already laid out, as PyTorch prints it. */
export interface ListingPart {
  readonly kind: "listing";
  readonly title?: string;
  /** A line above it. */
  readonly caption?: string;
  /** Returns the text with tables as grids, or with columns separated by tabs. */
  text(isGrid: boolean): string;
}
