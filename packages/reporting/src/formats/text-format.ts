import { displaySafe, fitTable, formatTable, type TableFormat, wrapText } from "@remat/text-table";
import { factLines } from "../verdict/fact-lines.js";
import type { DocumentPart, TablePart } from "./output-document.js";
import type { OutputFormat, OutputShape } from "./output-format.js";

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
  if (part.kind === "facts") return factLines(part, shape.width).join("\n");
  const above = part.title === undefined ? "" : `${style.heading(part.title)}\n\n`;
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
  return (width === undefined ? lines : lines.flatMap((line) => wrapText(line, width, "  "))).join("\n");
}

function writeTable({ headers, rows, worth, names }: TablePart, { tables }: TextStyle, { width }: OutputShape): string {
  if (width === undefined) return formatTable(rows, { headers, format: tables });
  const fitted = fitTable(rows, { headers, width, ...(worth && { worth }), ...(names && { names }) });
  const table = formatTable(fitted.rows, { headers: fitted.headers, format: tables });
  const { leftOut, wholeWidth } = fitted;
  const missing = leftOut.filter((name) => name !== "").join(", ");
  return missing === ""
    ? table
    : `${table}\n${wrapped([`(no room for ${missing}: --width ${wholeWidth} shows all)`], { width })}`;
}

/** Names in any part may hold anything, which a terminal must not obey. */
function joinParts(parts: readonly string[]): string {
  return `${parts
    .map((part) => part.trimEnd())
    .join("\n\n")
    .replace(/[^\n\t]+/g, displaySafe)}\n`;
}
