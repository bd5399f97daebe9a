import type { TraceDocument } from "../document/trace-document.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";

/** Draws the verdict on the step in a rule across the screen: as many of its facts as there is room for, the first in any case. */
export function drawVerdict(document: TraceDocument, width: number, glyphs: Glyphs): Line {
  const verdict = document.verdict();
  const [first, ...others] = verdict?.facts ?? ["peak not known"];
  const style = verdict?.fits === undefined ? "faint" : verdict.fits ? "good" : "bad";
  const spans: Span[] = [
    { text: `${glyphs.horizontal} `, style: "faint" },
    { text: first, style },
  ];
  for (const fact of others) {
    const more: Span = { text: ` ${glyphs.separator} ${fact}`, style: "faint" };
    if (lineWidth([...spans, more]) + 2 <= width) spans.push(more);
  }
  spans.push({ text: " " });
  const rest = width - lineWidth(spans);
  return fitLine(
    rest > 0 ? [...spans, { text: glyphs.horizontal.repeat(rest), style: "faint" }] : spans,
    width,
    glyphs,
  );
}
