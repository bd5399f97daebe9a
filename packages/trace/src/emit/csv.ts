import { displaySafe } from "./display-safe.js";
import { asEmitted, type CsvText } from "./emitted.js";

/** A value of CSV; null and undefined are empty. */
export type CsvCell = string | number | boolean | null | undefined;

/**
 * Returns rows as CSV by RFC 4180: lines end in CRLF, and fields are quoted where needed. A text in which a spreadsheet could see a formula gets an apostrophe before the
 * character that begins it; a number stays a number, also where it is given as text. What a terminal would obey is written out.
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
/** At the beginning, or behind what a spreadsheet with other settings takes for the end of a field. The wide ones are read as the narrow ones in East Asian settings. */
const formula = /(^|[;|\n])(?=[^\S\n]*[=+\-@\t\r＝＋－＠])/g;

function field(cell: CsvCell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "string") return String(cell);
  const text = number.test(cell)
    ? cell
    : cell.replace(/\r\n?/g, "\n").replace(formula, "$1'").split("\n").map(displaySafe).join("\n");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
