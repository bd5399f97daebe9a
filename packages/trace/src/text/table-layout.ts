import { type Cell, ColumnType, columnType, isInteger, isNumber, numberIn } from "./column-type.js";
import { pythonFloat, pythonGeneral } from "./python-number.js";

export type Alignment = "left" | "decimal";

/** A table whose cells are padded to the width of their column. A cell may have several lines. */
export interface TableLayout {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly widths: readonly number[];
  readonly alignments: readonly Alignment[];
}

/** Extra width of a header beyond its text: tabulate's MIN_PADDING. */
const headerPadding = 2;

/** Returns the number of characters in the longest line, as Python counts them. */
export function textWidth(text: string): number {
  let width = 0;
  for (const line of linesOf(text)) width = Math.max(width, characters(line));
  return width;
}

export function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|\r|\n/);
}

/** Pads every line of `text` to `width`. */
export function padText(text: string, width: number, alignment: Alignment): string {
  return linesOf(text)
    .map((line) => {
      const space = " ".repeat(Math.max(0, width - characters(line)));
      return alignment === "left" ? line + space : space + line;
    })
    .join("\n");
}

/**
 * Types, formats and aligns columns with the defaults of Python's tabulate. Numbers are recognized in text, printed
 * with six significant digits if the column has fractions, and aligned at the decimal point. Everything else is aligned
 * to the left.
 */
export function layOutTable(rows: readonly (readonly Cell[])[], headers: readonly string[]): TableLayout {
  const columnCount = Math.max(0, ...rows.map((row) => row.length));
  let titles = headers;
  if (headers.length > 0 && rows.length > 0) {
    const missing = Math.max(0, rows[0].length - headers.length);
    titles = [...Array<string>(missing).fill(""), ...headers].slice(0, columnCount);
  }
  if (titles.length > 0 && rows.length === 0) {
    const widths = titles.map((title) => textWidth(title) + headerPadding);
    return {
      headers: titles.map((title, i) => padText(title, widths[i], "left")),
      rows: [],
      widths,
      alignments: titles.map(() => "left"),
    };
  }
  const used = titles.length > 0 ? titles.length : columnCount;
  const columns: (readonly string[])[] = [];
  const widths: number[] = [];
  const alignments: Alignment[] = [];
  for (let i = 0; i < used; i++) {
    const cells = rows.map((row) => row[i]);
    const type = columnType(cells);
    const alignment = type === ColumnType.int || type === ColumnType.float ? "decimal" : "left";
    const texts = alignCells(
      cells.map((cell) => formatCell(cell, type)),
      alignment,
    );
    const atLeast = titles.length > 0 ? textWidth(titles[i]) + headerPadding : 0;
    const width = texts.reduce((max, text) => Math.max(max, textWidth(text)), atLeast);
    columns.push(texts.map((text) => padText(text, width, alignment)));
    widths.push(width);
    alignments.push(alignment);
  }
  return {
    headers: titles.map((title, i) => padText(title, widths[i], alignments[i])),
    rows: rows.map((_, r) => columns.map((column) => column[r])),
    widths,
    alignments,
  };
}

function formatCell(cell: Cell, type: number): string {
  if (cell === null || cell === undefined || cell === "") return "";
  if (typeof cell === "number") {
    if (type === ColumnType.float) return pythonGeneral(cell);
    return Number.isInteger(cell) ? BigInt(cell).toString() : pythonFloat(cell);
  }
  const value = type === ColumnType.float ? numberIn(cell) : undefined;
  return value === undefined ? cell : pythonGeneral(value);
}

/** Trims text, or adds spaces after numbers so that their decimal points line up. */
function alignCells(texts: readonly string[], alignment: Alignment): readonly string[] {
  if (alignment === "left") return texts.map((text) => text.trim());
  const decimals = texts.map(symbolsAfterPoint);
  const most = Math.max(...decimals);
  return texts.map((text, i) => text + " ".repeat(most - decimals[i]));
}

function symbolsAfterPoint(text: string): number {
  if (!isNumber(text) || isInteger(text)) return -1;
  const point = text.lastIndexOf(".");
  const position = point >= 0 ? point : text.toLowerCase().lastIndexOf("e");
  return position < 0 ? -1 : characters(text) - position - 1;
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
