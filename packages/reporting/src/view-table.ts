import type { CsvCell as Cell, TerminalText } from "@remat/trace/emit";
import type { OutputDocument } from "./formats/output-document.js";
import type { OutputFormat } from "./formats/output-format.js";
import { outputFormats } from "./formats/output-formats.js";
import { writeDocument } from "./formats/write-document.js";

/** Names of the output formats in which views can be exported. */
export const exportFormats: readonly OutputFormat[] = outputFormats
  .filter(({ isForFiles }) => isForFiles)
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/**
 * Content of a view as rows of plain values: bytes, milliseconds and shares as numbers, under names that include the
 * unit.
 */
export interface ViewTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/**
 * Returns a view in the output format of that name: CSV (see {@link writeCsv}), JSON
 * (`{ title, rows: [{ column: value }] }`), or a Markdown section.
 *
 * @throws RematError `FORMAT_UNKNOWN`
 * @example
 * fs.writeFileSync("modules.csv", writeViewTable(moduleTreeTable(view), "csv"));
 */
export function writeViewTable(table: ViewTable, format: string): TerminalText {
  return writeDocument(documentOf(table), format);
}

function documentOf({ title, columns, rows }: ViewTable): OutputDocument {
  return {
    parts: () => [
      {
        kind: "table",
        title: inert(title),
        headers: columns,
        rows: rows.map((cells) => columns.map((_, i) => textOf(cells[i]))),
      },
    ],
    records: () => ({ columns, rows }),
    value: () => ({
      title,
      rows: rows.map((cells) => Object.fromEntries(columns.map((column, i) => [column, plain(cells[i])] as const))),
    }),
  };
}

/** Replaces NaN and infinity by null, because JSON has neither. */
function plain(cell: Cell): Cell {
  return typeof cell === "number" && !Number.isFinite(cell) ? null : (cell ?? null);
}

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined || (typeof cell === "number" && Number.isNaN(cell))) return "";
  return inert(String(cell));
}

/** Makes a text safe. Names from a third-party trace can contain anything, including line breaks. */
function inert(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
