import { type TerminalText, terminal } from "@remat/trace/emit";
import { displaySafe, fitTable, formatTable, type TableFormat, wrapText } from "@remat/trace/text";
import { type Facts, factLines } from "../verdict/fact-lines.js";
import type { DocumentPart, TablePart } from "./output-document.js";
import type { OutputFormat, OutputShape } from "./output-format.js";

/** Between two columns of a table, and what a header takes beside its text. */
const columnGap = 2;
const headerPadding = 2;

/** How the parts of a document that are not tables are written. */
export interface TextMarkup {
  heading(title: string): TerminalText;
  line(text: string): TerminalText;
  /** A command, to be copied as it is. */
  command(text: string): TerminalText;
  /** A text that is laid out already. */
  listing(text: string): TerminalText;
}

/** That of formats without markup. */
export const plainMarkup: TextMarkup = {
  heading: (title) => terminal`${title}`,
  line: (text) => terminal`${text}`,
  command: (text) => terminal`${text}`,
  listing: terminal.listing,
};

/** In what the formats for people differ. */
export interface TextStyle extends Pick<OutputFormat, "name" | "title" | "isForFiles"> {
  readonly tables: TableFormat;
  /** Whether lines are kept to the width that there is. */
  readonly isFitted: boolean;
  readonly markup: TextMarkup;
}

/** Returns the format that writes the parts of a document one after the other, a line between them, in a style. */
export function textFormat(style: TextStyle): OutputFormat {
  const { name, title, isForFiles } = style;
  return {
    name,
    title,
    isForFiles,
    write: (document, shape = {}) =>
      terminal.listing(
        `${document
          .parts()
          .map((part) => write(part, style, style.isFitted ? shape : {}).trimEnd())
          .join("\n\n")}\n`,
      ),
  };
}

function write(part: DocumentPart, style: TextStyle, shape: OutputShape): string {
  const { markup } = style;
  if (part.kind === "text") return wrapped(part.lines, markup, shape);
  if (part.kind === "facts") return writeFacts(part, markup, shape);
  const above = part.title === undefined ? "" : `${markup.heading(part.title)}\n\n`;
  if (part.kind === "table") {
    const table = above + writeTable(part, style, shape);
    if (part.remark === undefined) return table;
    // Markdown takes a line right below a table for one of its rows.
    return `${table}${style.tables === "markdown" ? "\n\n" : "\n"}${wrapped(part.remark.split("\n"), markup, shape)}`;
  }
  const caption = part.caption === undefined ? "" : `${wrapped([part.caption], markup, shape)}\n`;
  return `${above}${caption}${markup.listing(part.text(style.tables !== "plain"))}`;
}

function wrapped(lines: readonly string[], markup: TextMarkup, { width }: OutputShape): string {
  // A line end in a name is not one of ours.
  return lines
    .map(displaySafe)
    .flatMap((line) => (width === undefined ? [markup.line(line)] : wrapText(line, width, "  ")))
    .join("\n");
}

function writeFacts({ facts, command }: Facts, markup: TextMarkup, { width }: OutputShape): string {
  const written = facts.map((fact) => (fact === command ? markup.command(fact) : markup.line(fact)));
  return factLines({ facts: written, command: command && markup.command(command) }, width).join("\n");
}

function writeTable(
  { headers: given, rows: cells, worth, names, wraps }: TablePart,
  { tables, markup }: TextStyle,
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
    : `${table}\n${wrapped([`(no room for ${missing}: --width ${wholeWidth} shows all)`], markup, { width })}`;
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
