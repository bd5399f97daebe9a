import { displaySafe } from "./display-safe.js";
import { asEmitted, type CsvText } from "./emitted.js";

/** A CSV value. Null and undefined become empty fields. */
export type CsvCell = string | number | boolean | null | undefined;

/**
 * Writes rows as CSV (RFC 4180): lines end in CRLF, and fields are quoted if needed. If a spreadsheet could read a text
 * as a formula, an apostrophe is put before the character that starts the formula. Numbers stay numbers, also if passed
 * as text. Terminal control characters are written as escapes.
 *
 * @example
 * writeCsv(["name", "bytes"], [["=cmd|' /C calc'!A1", -5]]);
 */
export function writeCsv(headers: readonly string[], rows: Iterable<readonly CsvCell[]>): CsvText {
  let csv = line(headers);
  for (const row of rows) csv += line(row);
  return asEmitted(csv);
}

function line(cells: readonly CsvCell[]): string {
  return `${cells.map(field).join(",")}\r\n`;
}

const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
/**
 * A formula starts at the beginning of a field, or after a character that a spreadsheet with other settings reads as the end of a field. Spreadsheets with East Asian settings read the full-width characters like the narrow ones.
 */
const formula = /(^|[;|\n])(?=[^\S\n]*[=+\-@\t\r＝＋－＠])/g;

function field(cell: CsvCell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "string") return String(cell);
  const text = number.test(cell)
    ? cell
    : cell.replace(/\r\n?/g, "\n").replace(formula, "$1'").split("\n").map(displaySafe).join("\n");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
