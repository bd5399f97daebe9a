import { displaySafe } from "@remat/text-table";

/** Joins headings, tables and remarks into one text, a line between them. Names in any of them may hold anything, which a terminal must not obey. */
export function joinParts(parts: readonly string[]): string {
  return `${parts
    .map((part) => part.trimEnd())
    .join("\n\n")
    .replace(/[^\n\t]+/g, displaySafe)}\n`;
}
