import { displaySafe, markdown } from "../emit/index.js";
import type { Cell } from "./column-type.js";
import { layOutTable, linesOf, padText, type TableLayout, textWidth } from "./table-layout.js";

/** The format of a table: reStructuredText, columns separated by tabs, or Markdown. */
export type TableFormat = "rst" | "plain" | "markdown";

/** Options for {@link formatTable}. */
export interface TableOptions {
  readonly headers?: readonly string[];
  /** The default is `rst`. */
  readonly format?: TableFormat;
}

/**
 * Formats a table as text, without a line end after the last line. Terminal control characters in cells are escaped
 * (see {@link displaySafe}). Line ends in cells stay.
 *
 * - `rst`: a simple table of reStructuredText, byte for byte as Python's `tabulate(rows, headers, tablefmt="rst")`
 *   returns it. PyTorch's estimators print the same. Text that looks like a number counts as one: `"0.5000"` is printed
 *   as `0.5`.
 * - `plain`: unchanged cells, padded to the width of their column and separated by tabs. PyTorch's estimators print
 *   this format without tabulate.
 * - `markdown`: a table in GitHub's Markdown, aligned like `rst`. Cells are text: markup in them is escaped, and a line
 *   break becomes `<br>`.
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

/** Escapes the lines of a cell for a terminal. */
function safeLines(text: string): string {
  return linesOf(text).map(displaySafe).join("\n");
}

function formatRst(rows: readonly (readonly Cell[])[], headers: readonly string[]): string {
  if (rows.length === 0 && headers.length === 0) return "";
  // In reStructuredText, an empty first cell would continue the row above it.
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

/** Returns one header per column. If there are fewer headers than columns, the first columns have none. */
function headerRow(rows: readonly (readonly Cell[])[], headers: readonly string[]): readonly string[] {
  if (headers.length === 0 || rows.length === 0) return headers;
  return [...Array<string>(Math.max(0, rows[0].length - headers.length)).fill(""), ...headers];
}

/** Returns the text lines of a row. Cells with fewer lines than others are padded below. */
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
