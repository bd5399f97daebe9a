import { type Cell, type MemoryBands, writeCsv } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { Overview } from "../engine/answers.js";
import { download } from "../interaction/download.js";
import type { TimelineAxis } from "./timeline-view.js";

/** Rows that are turned into text at a time, so that a large run needs no text of its whole size. */
const chunk = 20_000;

/** Saves the whole timeline: a row for each op, a column for each band and overlay. */
export function exportTimelineCsv(overview: Overview, bands: MemoryBands, axis: TimelineAxis): void {
  const { ops, names, meta, overlays } = overview;
  const headers = [
    "op",
    "name",
    "phase",
    "startMs",
    "totalBytes",
    "highestBytes",
    ...bands.bands.map(({ label }) => `${label} bytes`),
    ...meta.overlays.map(({ label }) => `${label} bytes`),
  ];
  const parts: string[] = [];
  for (let from = 0; from === 0 || from < ops.count; from += chunk) {
    const rows: Cell[][] = [];
    for (let op = from; op < Math.min(ops.count, from + chunk); op++)
      rows.push([
        op,
        names[ops.name[op]],
        phaseNames[ops.phase[op]],
        axis.msAt(op),
        bands.totalBytes[op],
        bands.highestBytes[op],
        ...bands.bands.map(({ bytes }) => bytes[op]),
        ...overlays.map((column) => (Number.isNaN(column[op]) ? undefined : column[op])),
      ]);
    const text = writeCsv(headers, rows);
    parts.push(from === 0 ? text : text.slice(text.indexOf("\r\n") + 2));
  }
  download(`${meta.title}-timeline.csv`, parts, "text/csv");
}
