import { displaySafe, markdown } from "../emit/index.js";
import type { Cell } from "./column-type.js";
import { layOutTable, linesOf, padText, type TableLayout, textWidth } from "./table-layout.js";

/** How a table is written: reStructuredText, columns parted by tabs, or Markdown. */
export type TableFormat = "rst" | "plain" | "markdown";

export interface TableOptions {
  readonly headers?: readonly string[];
  /** Left out: `rst`. */
  readonly format?: TableFormat;
}

/**
 * Returns a table as text, without a line end after the last line. What a terminal would obey in a cell is written out (see {@link displaySafe}); lines stay.
 *
 * - `rst`: a simple table of reStructuredText, byte for byte what Python's `tabulate(rows, headers, tablefmt="rst")` returns, as PyTorch's
 *   estimators print it. Text that reads as a number counts as one: `"0.5000"` is printed `0.5`.
 * - `plain`: cells padded to their column's width and parted by tabs, unchanged, as PyTorch's estimators print without tabulate.
 * - `markdown`: a table of GitHub's Markdown, aligned like `rst`. A cell is text: what would be markup in it is escaped, and a line break becomes `<br>`.
 *
 * @example
 * formatTable([["addmm", 0.25], ["relu", 1]], { headers: ["op", "ms"], format: "markdown" });
 */
export function formatTable(rows: readonly (readonly Cell[])[], options: TableOptions = {}): string {
  const headers = (options.headers ?? []).map(safeLines);
  const safe = rows.map((row) => row.map((cell) => (typeof cell === "string" ? safeLines(cell) : cell)));
  switch (options.format ?? "rst") {
    case "plain":
      return formatPlain(safe, headers);
    case "markdown":
      return formatMarkdown(safe, headers);
    default:
      return formatRst(safe, headers);
  }
}

/** The lines of a cell, without anything that a terminal would obey. */
function safeLines(text: string): string {
  return linesOf(text).map(displaySafe).join("\n");
}

function formatRst(rows: readonly (readonly Cell[])[], headers: readonly string[]): string {
  if (rows.length === 0 && headers.length === 0) return "";
  // An empty first cell would continue the row above it.
  const escape = (cell: Cell): Cell => (typeof cell === "string" && cell.trim() === "" ? ".." : cell);
  const layout = layOutTable(
    rows.map((row) => (row.length === 0 ? row : [escape(row[0]), ...row.slice(1)])),
    headerRow(rows, headers).map((header, i) => (i === 0 ? (escape(header) as string) : header)),
  );
  const rule = layout.widths.map((width) => "=".repeat(width)).join("  ");
  const lines = [rule];
  if (layout.headers.length > 0) lines.push(...rowLines(layout, layout.headers), rule);
  for (const row of layout.rows) lines.push(...rowLines(layout, row));
  lines.push(rule);
  return lines.join("\n");
}

/** Columns without a header come first. */
function headerRow(rows: readonly (readonly Cell[])[], headers: readonly string[]): readonly string[] {
  if (headers.length === 0 || rows.length === 0) return headers;
  return [...Array<string>(Math.max(0, rows[0].length - headers.length)).fill(""), ...headers];
}

/** The lines of a row; cells with fewer lines than others are filled up below. */
function rowLines(layout: TableLayout, cells: readonly string[]): readonly string[] {
  const split = cells.map(linesOf);
  const count = Math.max(...split.map((lines) => lines.length));
  return Array.from({ length: count }, (_, i) =>
    split
      .map((lines, column) => lines[i] ?? " ".repeat(layout.widths[column]))
      .join("  ")
      .trimEnd(),
  );
}

function formatPlain(rows: readonly (readonly Cell[])[], headers: readonly string[]): string {
  const texts = (headers.length === 0 ? rows : [headers, ...rows]).map((row) => row.map((cell) => String(cell ?? "")));
  const widths: number[] = [];
  for (const row of texts) row.forEach((text, i) => (widths[i] = Math.max(widths[i] ?? 0, textWidth(text))));
  return texts.map((row) => row.map((text, i) => padText(text, widths[i], "left")).join("\t")).join("\n");
}

function formatMarkdown(rows: readonly (readonly Cell[])[], headers: readonly string[]): string {
  if (rows.length === 0 && headers.length === 0) return "";
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const layout = layOutTable(
    rows.map((row) => row.map((cell) => (typeof cell === "string" ? markdown.cell(cell) : cell))),
    headers.length === 0 ? Array<string>(columns).fill("") : headers.map(markdown.cell),
  );
  const line = (cells: readonly string[]): string => `|${cells.map((cell) => ` ${cell} `).join("|")}|`;
  const rule = layout.widths.map((width, i) => {
    if (layout.rows.length === 0) return "-".repeat(width + 2);
    return layout.alignments[i] === "decimal" ? `${"-".repeat(width + 1)}:` : `:${"-".repeat(width + 1)}`;
  });
  return [line(layout.headers), `|${rule.join("|")}|`, ...layout.rows.map(line)].join("\n");
}
