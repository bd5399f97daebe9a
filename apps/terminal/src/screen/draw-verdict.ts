import { factsOf } from "@remat/reporting";
import type { TraceDocument } from "../document/trace-document.js";
import { keyLabel } from "../state/key-binding.js";
import type { View } from "../state/view.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";

/**
 * Draws the verdict on the step in a rule across the screen: as many of its facts as there is room for, the first in any case, and what comes next.
 * `beside` stands at its end.
 */
export function drawVerdict(
  views: readonly View[],
  document: TraceDocument,
  width: number,
  glyphs: Glyphs,
  beside?: string,
): Line {
  const verdict = document.verdict();
  const [, ...told] = factsOf(verdict).facts;
  const others = verdict === undefined ? told : [...told, ...keysToPlan(views)];
  const spans = [...firstFact(document, glyphs)];
  const end: Line = beside === undefined ? [] : [{ text: ` ${beside} ` }, { text: glyphs.horizontal, style: "faint" }];
  const room = width - lineWidth(end);
  for (const fact of others) {
    const more: Span = { text: ` ${glyphs.separator} ${fact}`, style: "faint" };
    if (lineWidth([...spans, more]) + 2 <= room) spans.push(more);
  }
  spans.push({ text: " " });
  const rest = room - lineWidth(spans);
  const rule: Line = rest > 0 ? [{ text: glyphs.horizontal.repeat(rest), style: "faint" }] : [];
  return fitLine([...spans, ...rule, ...end], width, glyphs);
}

/** Returns the columns that may stand beside a verdict's first fact. */
export function roomBesideVerdict(document: TraceDocument, width: number, glyphs: Glyphs): number {
  // A space before and after each, and the rule's ends.
  return width - lineWidth(firstFact(document, glyphs)) - 5;
}

function firstFact(document: TraceDocument, glyphs: Glyphs): Line {
  const verdict = document.verdict();
  const isBad = verdict?.fits === false || verdict?.truncated !== undefined;
  const style = isBad ? "bad" : verdict?.fits === undefined ? "faint" : "good";
  return [
    { text: `${glyphs.horizontal} `, style: "faint" },
    { text: factsOf(verdict).facts[0], style },
  ];
}

/** The keys that look for what holds less, as they are pressed one after the other. */
function keysToPlan(views: readonly View[]): readonly string[] {
  for (const [index, { keys }] of views.entries())
    for (const { keys: names, action } of keys)
      if (action === "plan") return [`${index + 1} ${keyLabel(names[0])}: plan the step`];
  return [];
}
