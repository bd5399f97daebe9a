import { factsOf } from "@remat/reporting";
import type { TraceDocument } from "../document/trace-document.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";

/**
 * Draws the verdict on the step in a rule across the screen: as many of its facts as there is room for, the first in any case.
 * `beside` stands at its end.
 */
export function drawVerdict(document: TraceDocument, width: number, glyphs: Glyphs, beside?: string): Line {
  const verdict = document.verdict();
  const [, ...others] = factsOf(verdict).facts;
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
