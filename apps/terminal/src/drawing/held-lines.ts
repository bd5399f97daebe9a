import type { HeldStorage } from "@remat/memory";
import { formatBytes, formatPercent, labelCategory } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { TraceDocument } from "../document/trace-document.js";
import { cutText, fitText, textWidth } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth } from "../text/line.js";
import { bandStyle } from "./draw-bands.js";

/**
 * Describes an op and the largest storages alive after it, or at the peak if the op contains the peak. The number of
 * lines limits the storages.
 */
export function heldLines(
  document: TraceDocument,
  op: number,
  { width, height }: { readonly width: number; readonly height: number },
  glyphs: Glyphs,
): readonly Line[] {
  const trace = document.memoryTrace();
  const peak = document.peak();
  const after = document.momentAfter(op);
  const isWithin = peak?.at?.op === op && peak.totalBytes > after.totalBytes;
  const moment = isWithin ? peak : after;
  const head: Line = [
    { text: `${isWithin ? "within" : "after"} op ${op} ${trace.opName(op)}`, style: "strong" },
    { text: `  ${formatBytes(moment.totalBytes)}`, style: "warning" },
    { text: ` in ${moment.storageCount} storages`, style: "faint" },
    { text: `  ${phaseNames[trace.ops.phase[op]]}`, style: "faint" },
    { text: `  ${trace.opModule(op)?.fqn ?? "(no module)"}` },
  ];
  return [
    fitLine(head, width, glyphs),
    ...moment.largest
      .slice(0, height - 1)
      .map((held) => fitLine(heldLine(document, held, { total: moment.totalBytes, width }, glyphs), width, glyphs)),
  ];
}

function heldLine(
  document: TraceDocument,
  { bytes, category, dtype, shape, maker, owner, scratchPieces }: HeldStorage,
  { total, width }: { readonly total: number; readonly width: number },
  glyphs: Glyphs,
): Line {
  const band = document.categoryBands().bands.find(({ key }) => key === category);
  const [sizes, shares, categories, shapes] = heldColumns(width);
  const tensor = shape === undefined ? "" : `${isWide(width) ? dtype : ""}[${shape.join(",")}]`;
  const text = scratchPieces !== undefined && scratchPieces > 1 ? `${scratchPieces} pieces` : tensor;
  const before: Line = [
    { text: fitText(formatBytes(bytes), sizes, glyphs, { align: "right" }) },
    { text: fitText(formatPercent(total > 0 ? bytes / total : 0), shares, glyphs, { align: "right" }), style: "faint" },
    { text: " " },
    { text: fitText(labelCategory(category), categories, glyphs), style: band && bandStyle(band) },
    { text: fitText(text, shapes, glyphs) },
    { text: " " },
  ];
  const [what, where] =
    owner !== undefined
      ? ["weight of ", owner]
      : maker === undefined
        ? ["(existed before, or no op)", ""]
        : [`${scratchPieces === undefined ? "" : "scratch of "}${maker.opName} of `, maker.module ?? "(no module)"];
  // Module names differ at their ends.
  const room = width - lineWidth(before) - textWidth(what);
  return [...before, { text: what, style: "faint" }, { text: cutText(where, room, glyphs, "start"), style: "faint" }];
}

const isWide = (width: number): boolean => width >= 100;

/**
 * Widths of the size, share, category and shape columns. If space is short the shape shrinks first, since the
 * allocation site matters most.
 */
function heldColumns(width: number): readonly [sizes: number, shares: number, categories: number, shapes: number] {
  if (isWide(width)) return [11, 8, 16, 22];
  return width >= 75 ? [11, 8, 16, 14] : [10, 0, 12, 10];
}
