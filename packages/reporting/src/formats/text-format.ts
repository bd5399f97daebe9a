import { displaySafe, fitTable, formatTable, type TableFormat, wrapText } from "@remat/text-table";
import { type Facts, factLines } from "../verdict/fact-lines.js";
import type { DocumentPart, TablePart } from "./output-document.js";
import type { OutputFormat, OutputShape } from "./output-format.js";

/** Between two columns of a table, and what a header takes beside its text. */
const columnGap = 2;
const headerPadding = 2;

/** In what the formats for people differ. */
export interface TextStyle extends Pick<OutputFormat, "name" | "title" | "isForFiles"> {
  readonly tables: TableFormat;
  /** Whether lines are kept to the width that there is. */
  readonly isFitted: boolean;
  heading(title: string): string;
  listing(text: string): string;
}

/** Returns the format that writes the parts of a document one after the other, a line between them, in a style. */
export function textFormat(style: TextStyle): OutputFormat {
  const { name, title, isForFiles } = style;
  return {
    name,
    title,
    isForFiles,
    write: (document, shape = {}) =>
      joinParts(document.parts().map((part) => write(part, style, style.isFitted ? shape : {}))),
  };
}

function write(part: DocumentPart, style: TextStyle, shape: OutputShape): string {
  if (part.kind === "text") return wrapped(part.lines, shape);
  if (part.kind === "facts") return factLines(safeFacts(part), shape.width).join("\n");
  const above = part.title === undefined ? "" : `${style.heading(displaySafe(part.title))}\n\n`;
  if (part.kind === "table") {
    const table = above + writeTable(part, style, shape);
    if (part.remark === undefined) return table;
    // Markdown takes a line right below a table for one of its rows.
    return `${table}${style.tables === "markdown" ? "\n\n" : "\n"}${wrapped(part.remark.split("\n"), shape)}`;
  }
  const caption = part.caption === undefined ? "" : `${wrapped([part.caption], shape)}\n`;
  return `${above}${caption}${style.listing(part.text(style.tables !== "plain"))}`;
}

function wrapped(lines: readonly string[], { width }: OutputShape): string {
  const safe = lines.map(displaySafe);
  return (width === undefined ? safe : safe.flatMap((line) => wrapText(line, width, "  "))).join("\n");
}

/** A line end in a name is not one of ours. */
const safeFacts = ({ facts, command }: Facts): Facts => ({
  facts: facts.map(displaySafe),
  command: command && displaySafe(command),
});

function writeTable(
  { headers: given, rows: cells, worth, names, wraps }: TablePart,
  { tables }: TextStyle,
  { width }: OutputShape,
): string {
  const headers = given.map(displaySafe);
  const rows = cells.map((row) => row.map(displaySafe));
  if (width === undefined) return formatTable(rows, { headers, format: tables });
  if (headers.length === 0 || wraps !== undefined)
    return formatTable(wrapLast(rows, headers, width), { headers, format: tables });
  const fitted = fitTable(rows, { headers, width, ...(worth && { worth }), ...(names && { names }) });
  const table = formatTable(fitted.rows, { headers: fitted.headers, format: tables });
  const { leftOut, wholeWidth } = fitted;
  const missing = leftOut.filter((name) => name !== "").join(", ");
  return missing === ""
    ? table
    : `${table}\n${wrapped([`(no room for ${missing}: --width ${wholeWidth} shows all)`], { width })}`;
}

/** The last column of what is no table of figures takes several lines where it has to. */
function wrapLast(
  rows: readonly (readonly string[])[],
  headers: readonly string[],
  width: number,
): readonly (readonly string[])[] {
  const last = Math.max(...rows.map((row) => row.length)) - 1;
  const others = Array.from({ length: last }, (_, i) =>
    Math.max(
      ...rows.map((row) => [...(row[i] ?? "")].length),
      headers[i] === undefined ? 0 : headers[i].length + headerPadding,
    ),
  ).reduce((sum, wide) => sum + wide + columnGap, 0);
  return rows.map((row) =>
    row.map((cell, i) => (i < last ? cell : wrapText(cell, Math.max(1, width - others)).join("\n"))),
  );
}

/** Names in any part may hold anything, which a terminal must not obey. */
function joinParts(parts: readonly string[]): string {
  return `${parts
    .map((part) => part.trimEnd())
    .join("\n\n")
    .replace(/[^\n\t]+/g, displaySafe)}\n`;
}
