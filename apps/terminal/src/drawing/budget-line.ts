import { describePlanWithin, formatBytes, labelCategory, planFateLabels, planFateNames } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import { wrapText } from "@remat/trace/text";
import { type BudgetedPlans, type PlanColumns, planBands, planOfBudget } from "../document/step-plans.js";
import type { TraceDocument } from "../document/trace-document.js";
import { fitText } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";
import { bandStyle } from "./draw-bands.js";

/** Draws a budget across a row of the timeline, in its empty cells. */
export function withBudgetLine(line: Line, { horizontal }: Glyphs): Line {
  return line.map((span) =>
    /^[ .\u00b7]+$/.test(span.text) ? { text: horizontal.repeat(span.text.length), style: "warning" } : span,
  );
}

/** Describes the result for a budget: the search, the plan within it, or that there is none. */
export function budgetFactsOf(
  document: TraceDocument,
  own: BudgetedPlans,
  recordedPeakBytes: number,
  width: number,
): readonly Line[] {
  const { trace } = document;
  const { budgetBytes, plans } = own;
  if (budgetBytes === undefined) return [];
  const head = `budget ${formatBytes(budgetBytes)}: `;
  const told = (text: string, style?: "faint" | "bad"): readonly Line[] =>
    wrapText(head + text, width).map((each): Line => [{ text: each, style }]);
  if (budgetBytes >= recordedPeakBytes) return told("the step already fits as recorded.");
  if (plans.front?.trace !== trace) return told(plans.progress ?? "searching for plans", "faint");
  if (plans.front.reason !== undefined) return told(plans.front.reason, "bad");
  const within = planOfBudget(own, trace)!;
  const text = [
    ...describePlanWithin(within, { recordedPeakBytes }),
    ...(document.planned() === undefined || within.point === undefined
      ? []
      : ["Its step has other ops, so it is drawn at matching ops."]),
  ].join(" ");
  return told(text, within.point === undefined ? "bad" : undefined);
}

/** Describes an op, and the memory in use after it by category under a plan. */
export function planHeldLines(
  document: TraceDocument,
  { memory, fates }: { readonly memory: PlanColumns; readonly fates: Uint8Array },
  op: number,
  { width, height }: { readonly width: number; readonly height: number },
  glyphs: Glyphs,
): readonly Line[] {
  const { trace } = document;
  const times = memory.recomputations[op];
  const fate = planFateLabels[planFateNames[fates[op]]];
  const bands = planBands({ memory }).bands;
  return [
    [
      { text: `after op ${op} ${trace.opName(op)}`, style: "strong" as const },
      { text: `  ${formatBytes(memory.totalBytes[op])}`, style: "warning" as const },
      { text: `  ${phaseNames[trace.ops.phase[op]]}`, style: "faint" as const },
      { text: `  ${fate}${times > 1 ? ` ${times} times` : ""}`, style: "accent" as const },
      { text: `  ${trace.opModule(op)?.fqn ?? "(no module)"}` },
    ],
    ...bands
      .filter(({ bytes }) => bytes[op] > 0)
      .toSorted((a, b) => b.bytes[op] - a.bytes[op])
      .slice(0, height - 1)
      .map(
        (band): Line => [
          { text: fitText(formatBytes(band.bytes[op]), 11, glyphs, { align: "right" }) },
          { text: "  " },
          { text: labelCategory(band.key), style: bandStyle(band) },
        ],
      ),
  ].map((line) => fitLine(line, width, glyphs));
}
