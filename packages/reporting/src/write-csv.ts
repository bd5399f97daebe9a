import { displaySafe } from "@remat/text-table";

export type Cell = string | number | boolean | null | undefined;

/**
 * Returns rows as CSV by RFC 4180 (lines end in CRLF, fields are quoted where needed). A text that a spreadsheet would take for a formula
 * (`=`, `+`, `-`, `@` first, as names from a foreign trace may have) gets a leading apostrophe; what a terminal would obey is written out.
 */
export function writeCsv(headers: readonly string[], rows: Iterable<readonly Cell[]>): string {
  let csv = line(headers);
  for (const row of rows) csv += line(row);
  return csv;
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = cell
    .split(/\r\n|\r|\n/)
    .map(displaySafe)
    .join("\n");
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${safe}` : safe;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
