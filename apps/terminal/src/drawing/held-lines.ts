import type { HeldStorage } from "@remat/memory";
import { formatBytes, formatPercent, labelCategory } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { TraceDocument } from "../document/trace-document.js";
import { fitText } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";
import { bandStyle } from "./draw-bands.js";

/** Tells of an op, and of what is alive after it: the largest storages, as many as there are lines for. */
export function heldLines(
  document: TraceDocument,
  op: number,
  { width, height }: { readonly width: number; readonly height: number },
  glyphs: Glyphs,
): readonly Line[] {
  const trace = document.memoryTrace();
  const moment = document.momentAfter(op);
  const head: Line = [
    { text: `op ${op} ${trace.opName(op)}`, style: "strong" },
    { text: `  holds ${formatBytes(moment.totalBytes)}`, style: "warning" },
    { text: ` in ${moment.storageCount} storages`, style: "faint" },
    { text: `  ${phaseNames[trace.ops.phase[op]]}`, style: "faint" },
    { text: `  ${trace.opModule(op)?.fqn ?? "(no module)"}` },
  ];
  return [
    fitLine(head, width, glyphs),
    ...moment.largest
      .slice(0, height - 1)
      .map((held) => fitLine(heldLine(document, held, moment.totalBytes, glyphs), width, glyphs)),
  ];
}

function heldLine(
  document: TraceDocument,
  { bytes, category, dtype, shape, maker }: HeldStorage,
  total: number,
  glyphs: Glyphs,
): Line {
  const band = document.categoryBands().bands.find(({ key }) => key === category);
  return [
    { text: fitText(formatBytes(bytes), 11, glyphs, { align: "right" }) },
    { text: fitText(formatPercent(total > 0 ? bytes / total : 0), 8, glyphs, { align: "right" }), style: "faint" },
    { text: " " },
    { text: fitText(labelCategory(category), 16, glyphs), style: band && bandStyle(band) },
    { text: fitText(shape === undefined ? "" : `${dtype}[${shape.join(",")}]`, 26, glyphs) },
    {
      text: ` ${maker === undefined ? "(there before, or not by an op)" : `${maker.opName} of ${maker.module ?? "(no module)"}`}`,
      style: "faint",
    },
  ];
}
