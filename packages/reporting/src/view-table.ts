import { displaySafe, formatTable } from "@remat/text-table";
import { type Cell, writeCsv } from "./write-csv.js";

/** In what a view can be exported. */
export type ExportFormat = "csv" | "json" | "md";
/** Names of {@link ExportFormat}; each is also the usual ending of such a file. */
export const exportFormats: readonly ExportFormat[] = ["csv", "json", "md"];

/** What a view shows, as rows of plain values: bytes, milliseconds and shares as numbers, under names that say the unit. */
export interface ViewTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/**
 * Returns a view as CSV (see {@link writeCsv}), as JSON (`{ title, rows: [{ column: value }] }`) or as a Markdown section.
 *
 * @example
 * fs.writeFileSync("modules.csv", writeViewTable(moduleTreeTable(view), "csv"));
 */
export function writeViewTable({ title, columns, rows }: ViewTable, format: ExportFormat): string {
  switch (format) {
    case "csv":
      return writeCsv(columns, rows);
    case "json": {
      const objects = rows.map((cells) =>
        Object.fromEntries(columns.map((column, i) => [column, plain(cells[i])] as const)),
      );
      return `${JSON.stringify({ title, rows: objects }, undefined, 2)}\n`;
    }
    case "md":
      return `## ${displaySafe(inert(title))}\n\n${formatTable(
        rows.map((cells) => columns.map((_, i) => markdownCell(cells[i]))),
        { headers: columns, format: "markdown" },
      ).trimEnd()}\n`;
  }
}

/** What JSON has no number for is null. */
function plain(cell: Cell): Cell {
  return typeof cell === "number" && !Number.isFinite(cell) ? null : (cell ?? null);
}

function markdownCell(cell: Cell): string {
  if (cell === null || cell === undefined || (typeof cell === "number" && Number.isNaN(cell))) return "";
  return inert(String(cell));
}

/** Names from a foreign trace can hold anything, line ends included. */
function inert(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
