import { type TerminalText, terminal } from "@remat/trace/emit";
import { displaySafe, fitTable, formatTable, type TableFormat, wrapText } from "@remat/trace/text";
import { type Facts, factLines } from "../verdict/fact-lines.js";
import type { DocumentPart, TablePart } from "./output-document.js";
import type { OutputFormat, OutputShape } from "./output-format.js";

/** Space between two columns of a table, and the extra width of a header beyond its text. */
const columnGap = 2;
const headerPadding = 2;

/** Functions that write the parts of a document other than tables. */
export interface TextMarkup {
  heading(title: string): TerminalText;
  line(text: string): TerminalText;
  /** A command, ready to copy. */
  command(text: string): TerminalText;
  /** Text that is already laid out. */
  listing(text: string): TerminalText;
}

/** Markup of formats that have none. */
export const plainMarkup: TextMarkup = {
  heading: (title) => terminal`${title}`,
  line: (text) => terminal`${text}`,
  command: (text) => terminal`${text}`,
  listing: terminal.listing,
};

/** The differences between formats for people. */
export interface TextStyle extends Pick<OutputFormat, "name" | "title" | "isForFiles"> {
  readonly tables: TableFormat;
  /** True if lines are fitted to the available width. */
  readonly isFitted: boolean;
  readonly markup: TextMarkup;
}

/** Returns an output format for text in the given style: all parts of a document, separated by blank lines. */
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
    // Markdown would take a line right below a table for another row.
    return `${table}${style.tables === "markdown" ? "\n\n" : "\n"}${wrapped(part.remark.split("\n"), markup, shape)}`;
  }
  const caption = part.caption === undefined ? "" : `${wrapped([part.caption], markup, shape)}\n`;
  return `${above}${caption}${markup.listing(part.text(style.tables !== "plain"))}`;
}

function wrapped(lines: readonly string[], markup: TextMarkup, { width }: OutputShape): string {
  // A line break inside a name must not start a new line.
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
    : `${table}\n${wrapped([`(not shown: ${missing}; --width ${wholeWidth} shows all)`], markup, { width })}`;
}

/** Wraps the last column of a table of text onto several lines if it is too wide. */
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
