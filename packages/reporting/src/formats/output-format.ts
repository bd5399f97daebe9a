import type { TerminalText } from "@remat/trace/emit";
import type { OutputDocument } from "./output-document.js";

/** Settings for writing a document. */
export interface OutputShape {
  /** Characters per line in formats for people. Default: unlimited. */
  readonly width?: number | undefined;
}

/** Writes documents. Each file in this folder exports one format, listed in `output-formats.ts`. */
export interface OutputFormat {
  /** Name on the command line, and file extension. */
  readonly name: string;
  /** Name in a sentence. */
  readonly title: string;
  /** True if views can be exported in this format. */
  readonly isForFiles: boolean;
  /** True if the format is for spreadsheets: a table of plain values that is cut short only on request. */
  readonly isRecords?: boolean;
  /**
   * Returns the document as text that is safe to print to a terminal, because control characters in names are escaped.
   */
  write(document: OutputDocument, shape?: OutputShape): TerminalText;
}
