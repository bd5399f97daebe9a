import { type Cell, writeCsv } from "@remat/reporting";
import { download } from "./download.js";

/** Rows converted to text at a time, so that a large run does not need one huge text. */
const chunk = 20_000;

/** Saves `count` rows as CSV under a file name. */
export function downloadCsv(
  name: string,
  headers: readonly string[],
  count: number,
  rowAt: (index: number) => Cell[],
): void {
  const parts: string[] = [];
  for (let from = 0; from === 0 || from < count; from += chunk) {
    const rows: Cell[][] = [];
    for (let i = from; i < Math.min(count, from + chunk); i++) rows.push(rowAt(i));
    const text = writeCsv(headers, rows);
    parts.push(from === 0 ? text : text.slice(text.indexOf("\r\n") + 2));
  }
  download(name, parts, "text/csv");
}
