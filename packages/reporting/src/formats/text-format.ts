import { displaySafe, formatTable, type TableFormat } from "@remat/text-table";
import type { DocumentPart } from "./output-document.js";
import type { OutputFormat } from "./output-format.js";

/** In what the formats for people differ. */
export interface TextStyle extends Pick<OutputFormat, "name" | "title" | "isForFiles"> {
  readonly tables: TableFormat;
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
    write: (document) => joinParts(document.parts().map((part) => write(part, style))),
  };
}

function write(part: DocumentPart, { tables, heading, listing }: TextStyle): string {
  if (part.kind === "text") return part.lines.join("\n");
  const above = part.title === undefined ? "" : `${heading(part.title)}\n\n`;
  if (part.kind === "table") {
    const { headers, rows, remark } = part;
    return `${above}${formatTable(rows, { headers, format: tables })}${remark === undefined ? "" : `\n${remark}`}`;
  }
  const caption = part.caption === undefined ? "" : `${part.caption}\n`;
  return `${above}${caption}${listing(part.text(tables !== "plain"))}`;
}

/** Names in any part may hold anything, which a terminal must not obey. */
function joinParts(parts: readonly string[]): string {
  return `${parts
    .map((part) => part.trimEnd())
    .join("\n\n")
    .replace(/[^\n\t]+/g, displaySafe)}\n`;
}
