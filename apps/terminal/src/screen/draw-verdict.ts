import { describeCategories, factsOf, paragraphOf, type Verdict } from "@remat/reporting/verdict";
import { wrapText } from "@remat/trace/text";
import { type Run, verdictOf } from "../document/run.js";
import type { ScreenSize } from "../state/app-state.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";

/** Lower terminals have no lines for facts that do not fit into the rule. */
const fewestRows = 16;

/**
 * Draws the verdict on the step: a rule across the screen with as many facts as fit, at least the first. Below it, if
 * they did not fit, are the next step and the command to run. `beside` is at the rule's end.
 */
export function drawVerdict(
  run: Run,
  { columns, rows }: ScreenSize,
  glyphs: Glyphs,
  beside?: string,
): readonly [rule: Line, ...below: readonly Line[]] {
  const verdict = verdictOf(run);
  const { facts, command } = factsOf(verdict);
  const spans = [...headlineSpans(verdict, glyphs)];
  const end: Line = beside === undefined ? [] : [{ text: ` ${beside} ` }, { text: glyphs.horizontal, style: "faint" }];
  const room = columns - lineWidth(end);
  const told = new Set<string>();
  for (const fact of facts.slice(1)) {
    // A sentence that leads to a command stays beside it.
    if (fact === command || fact.endsWith(":")) break;
    const more: Span = { text: ` ${glyphs.separator} ${fact.replace(/\.$/, "")}`, style: "faint" };
    if (lineWidth([...spans, more]) + 2 > room) continue;
    spans.push(more);
    told.add(fact);
  }
  spans.push({ text: " " });
  const rest = room - lineWidth(spans);
  const line: Line = rest > 0 ? [{ text: glyphs.horizontal.repeat(rest), style: "faint" }] : [];
  const rule = fitLine([...spans, ...line, ...end], columns, glyphs);
  const isOpen = command !== undefined || verdict?.fits === false;
  if (rows < fewestRows || verdict === undefined || !isOpen) return [rule];
  // Every view shows the parts of the peak.
  const shown = new Set([...told, ...describeCategories(verdict)]);
  const left = facts.slice(1).filter((fact) => !shown.has(fact));
  return [rule, ...nextLines(left, command, columns, glyphs)];
}

/** The facts that did not fit into the rule: the next step on one line, and the command on as few as possible. */
function nextLines(
  facts: readonly string[],
  command: string | undefined,
  columns: number,
  glyphs: Glyphs,
): readonly Line[] {
  const width = columns - 2;
  const sentences = paragraphOf({ facts: facts.filter((fact) => fact !== command) });
  const [next = "", ...more] = wrapText(sentences, width);
  const isTyped = command !== undefined && facts.includes(command);
  const together = `${next}  ${command}`;
  const lines: Line[] = [];
  if (isTyped && next !== "" && more.length === 0 && together.length <= width) {
    lines.push([
      { text: `  ${next}  `, style: "accent" },
      { text: command, style: "strong" },
    ]);
  } else {
    if (next !== "")
      lines.push([{ text: `  ${more.length === 0 ? next : `${next}${glyphs.ellipsis}`}`, style: "accent" }]);
    const typed = isTyped ? wrapText(command, width, "  ") : [];
    lines.push(...typed.map((text): Line => [{ text: `  ${text}`, style: "strong" }]));
  }
  return lines.map((line) => fitLine(line, columns, glyphs));
}

/** Returns the columns available next to a verdict's first fact. */
export function roomBesideVerdict(run: Run, width: number, glyphs: Glyphs): number {
  // A space before and after each, and the rule's ends.
  return width - lineWidth(headlineSpans(verdictOf(run), glyphs)) - 5;
}

function headlineSpans(verdict: Verdict | undefined, glyphs: Glyphs): Line {
  const isBad = verdict?.fits === false || verdict?.truncated !== undefined;
  const style = isBad ? "bad" : verdict?.fits === undefined ? "faint" : "good";
  return [
    { text: `${glyphs.horizontal} `, style: "faint" },
    { text: verdict?.headline ?? factsOf(verdict).facts[0].replace(/\.$/, ""), style },
  ];
}
