import { formatBytes } from "@remat/reporting";
import { msOfTimes, type StepTimes } from "@remat/runtime-estimator";
import { wrapText } from "@remat/trace/text";
import type { TraceDocument } from "../document/trace-document.js";
import { fitText } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";

/** Shows step time and peak under the settings, next to those of the settings at opening. */
export function effectLines(
  opened: TraceDocument,
  document: TraceDocument,
  width: number,
  glyphs: Glyphs,
): readonly Line[] {
  const row = (label: string, before: string, after: string): Line =>
    fitLine(
      [
        { text: fitText(label, 18, glyphs) },
        { text: fitText(before, 13, glyphs, { align: "right" }), style: "faint" },
        { text: fitText(after, 13, glyphs, { align: "right" }), style: before === after ? undefined : "warning" },
      ],
      width,
      glyphs,
    );
  const error = memoryError(document);
  const timeRow = (label: string, msOf: (times: StepTimes) => number): Line => {
    const [before, after] = [opened, document].map((of) => of.formatTime(msOf(of.tree().totals)));
    return row(label, before, after);
  };
  return [
    [
      { text: fitText("", 18, glyphs) },
      { text: fitText("as opened", 13, glyphs, { align: "right" }), style: "header" },
      { text: fitText("now", 13, glyphs, { align: "right" }), style: "header" },
    ],
    timeRow("Step", msOfTimes),
    timeRow("  forward", ({ forwardMs }) => forwardMs),
    timeRow("  backward", ({ backwardMs }) => backwardMs),
    timeRow("  optimizer", ({ optimizerMs }) => optimizerMs),
    row("Peak", peakText(opened), peakText(document)),
    ...(error === undefined ? [] : wrapText(error, width).map((text): Line => [{ text, style: "bad" }])),
  ];
}

function peakText(document: TraceDocument): string {
  try {
    const peak = document.peak();
    return peak === undefined ? "unknown" : formatBytes(peak.totalBytes);
  } catch {
    return "unknown";
  }
}

/** Explains why a document's memory cannot be computed under its settings. Returns undefined if it can. */
export function memoryError(document: TraceDocument): string | undefined {
  try {
    document.memoryTrace();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
