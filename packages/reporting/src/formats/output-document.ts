import type { CsvCell as Cell } from "@remat/trace/emit";
import type { Facts } from "../verdict/fact-lines.js";

/** What a command or a view tells, in no format yet: a format shows of it what it can. Nothing is made before it is asked for. */
export interface OutputDocument {
  /** For people, in the order in which they read. */
  parts(): readonly DocumentPart[];
  /** For spreadsheets: one table of plain values, a row for each thing that the document is about. */
  records(): DocumentRecords;
  /** For programs: all of it, as JSON holds it. */
  value(): unknown;
  /** Whether `value` is lists so long that a line for each element is no help. */
  readonly isLong?: boolean;
}

/** Plain values under names that say the unit: bytes, milliseconds and shares are numbers. */
export interface DocumentRecords {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly Cell[]>;
}

/** A piece of a document for people; names in it may hold anything. */
export type DocumentPart = TextPart | FactsPart | TablePart | ListingPart;

/** Lines that belong together. */
export interface TextPart {
  readonly kind: "text";
  readonly lines: readonly string[];
}

/** Facts in one line, which is broken between two of them where it is too long. */
export interface FactsPart extends Facts {
  readonly kind: "facts";
}

/** A table of quantities that are written for people. */
export interface TablePart {
  readonly kind: "table";
  readonly title?: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What each column is worth: where there is no room, those worth least go first, the first column never. Left out: the last goes first. */
  readonly worth?: readonly number[];
  /** Headers of columns with long names, whose beginning may be cut for want of room; left out: the first column's. */
  readonly names?: readonly string[];
  /** Header of the last column, where that holds sentences, which take several lines where they have to. */
  readonly wraps?: string;
  /** What has to be said of it, under it. */
  readonly remark?: string | undefined;
}

/** A text that is laid out already, as PyTorch prints it. */
export interface ListingPart {
  readonly kind: "listing";
  readonly title?: string;
  /** A line above it. */
  readonly caption?: string;
  /** Returns it with grids, or with columns parted by tabs. */
  text(isGrid: boolean): string;
}
