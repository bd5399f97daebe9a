import type { TerminalText } from "@remat/trace/emit";
import type { OutputDocument } from "./output-document.js";

/** What a document is written for. */
export interface OutputShape {
  /** Characters in a line, of formats for people; left out: as many as it takes. */
  readonly width?: number | undefined;
}

/** How documents are written: what a file of this folder exports, and `output-formats.ts` lists. */
export interface OutputFormat {
  /** What it is called on the command line; also the ending of its files. */
  readonly name: string;
  /** What it is called in a sentence. */
  readonly title: string;
  /** Whether views are exported in it. */
  readonly isForFiles: boolean;
  /** Whether it is for spreadsheets: a table of plain values, which is never cut short unless somebody asks for it. */
  readonly isRecords?: boolean;
  /** Returns it as text that a terminal only shows, whatever names the document holds. */
  write(document: OutputDocument, shape?: OutputShape): TerminalText;
}
