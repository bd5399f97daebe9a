import { factsOf } from "@remat/reporting";
import type { TraceDocument } from "../document/trace-document.js";
import { keyLabel } from "../state/key-binding.js";
import type { View } from "../state/view.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";

/** Draws the verdict on the step in a rule across the screen: as many of its facts as there is room for, the first in any case, and what comes next. */
export function drawVerdict(views: readonly View[], document: TraceDocument, width: number, glyphs: Glyphs): Line {
  const verdict = document.verdict();
  const [first, ...told] = factsOf(verdict).facts;
  const others = verdict === undefined ? told : [...told, ...keysToPlan(views)];
  const isBad = verdict?.fits === false || verdict?.truncated !== undefined;
  const style = isBad ? "bad" : verdict?.fits === undefined ? "faint" : "good";
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

/** The keys that look for what holds less, as they are pressed one after the other. */
function keysToPlan(views: readonly View[]): readonly string[] {
  for (const [index, { keys }] of views.entries())
    for (const { keys: names, action } of keys)
      if (action === "plan") return [`${index + 1} ${keyLabel(names[0])}: plan the step`];
  return [];
}
