import type { MemoryBands } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { Overview } from "../engine/answers.js";
import { downloadCsv } from "../interaction/download-csv.js";
import type { TimelineAxis } from "./timeline-view.js";

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
  downloadCsv(`${meta.title}-timeline.csv`, headers, ops.count, (op) => [
    op,
    names[ops.name[op]],
    phaseNames[ops.phase[op]],
    axis.msAt(op),
    bands.totalBytes[op],
    bands.highestBytes[op],
    ...bands.bands.map(({ bytes }) => bytes[op]),
    ...overlays.map((column) => (Number.isNaN(column[op]) ? undefined : column[op])),
  ]);
}
