import { heldPeak } from "@remat/memory";
import { formatBytes, summarizePlan } from "@remat/reporting";
import { describePlanMismatch, findPlanMismatch, type Plan, type Trace } from "@remat/trace";
import { wrapText } from "@remat/trace/text";
import { rememberLast } from "../document/memoize.js";
import type { TraceDocument } from "../document/trace-document.js";
import { fitText } from "../text/fit-text.js";
import { barText, type Glyphs } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";
import { planFacts } from "./plan-facts.js";

/** Progress and result of planning the step. */
export interface StepPlan {
  /** Progress while planning is running. */
  readonly progress: string | undefined;
  /** Why there is no plan. */
  readonly outcome: string | undefined;
  readonly plan: Plan | undefined;
}

/** Draws a plan of the step, or the progress of the search. */
export function stepPlanLines(
  document: TraceDocument,
  { progress, outcome, plan }: StepPlan,
  width: number,
  glyphs: Glyphs,
): readonly Line[] {
  const { worldSize } = document.settings;
  // FSDP's own ops cannot be recomputed, so the opened step is planned.
  const onOneDevice = worldSize === 1 ? [] : [`It is for the step on one device, not for one of ${worldSize} ranks.`];
  const wrapped = (text: string, style?: "bad" | "faint" | "warning"): readonly Line[] =>
    wrapText(text, width).map((line): Line => [{ text: line, style }]);
  if (progress !== undefined)
    return [
      [{ text: "Planning the step", style: "strong" }],
      ...wrapped(progress),
      [],
      ...wrapped("Esc stops and keeps the best so far.", "faint"),
    ];
  if (outcome !== undefined) return [[{ text: "No plan", style: "bad" }], ...wrapped(outcome)];
  if (plan === undefined)
    return [
      [{ text: "Plan of the step", style: "strong" }],
      ...wrapped(
        `Press p to plan what to save and what to recompute, so that the step${worldSize === 1 ? "" : " on one device"} stays within the budget.`,
        "faint",
      ),
    ];
  const mismatch = findMismatch(document, plan);
  return [
    ...planFacts(plan, width, glyphs, {
      formatTime: document.formatTime,
      recordedBytes: mismatch === undefined ? heldPeakOf(document.trace) : undefined,
    }),
    ...onOneDevice.flatMap((text) => wrapped(text, "warning")),
    ...(mismatch === undefined ? [] : wrapped(mismatch, "warning")),
    // A plan for another trace already has a file.
    ...(mismatch === undefined
      ? [
          [],
          ...wrapped("Press w to write it to a file.", "faint"),
          ...recomputedModules(stepOf(document), plan, glyphs),
        ]
      : []),
  ].map((line) => fitLine(line, width, glyphs));
}

/** The step that plans are made for. */
const stepOf = (document: TraceDocument): Trace => document.planned() ?? document.trace;

const heldPeakOf = rememberLast((trace: Trace) => heldPeak(trace).peakBytes);

const summaryOf = rememberLast((plan: Plan, trace: Trace) =>
  // A plan without recomputation is not shown here.
  summarizePlan(plan, trace, { unrecomputed: plan, limit: 0 }),
);

/** Returns the modules that recompute ops, those with the longest recomputation first. */
function recomputedModules(step: Trace, plan: Plan, glyphs: Glyphs): readonly Line[] {
  const { byModule, recomputed } = summaryOf(plan, step);
  if (byModule.length === 0) return [];
  return [
    [],
    [{ text: "Recomputed by module", style: "strong" }],
    ...byModule
      .slice(0, 8)
      .map(
        ({ name, runs, ms, bytes }): Line => [
          { text: `  ${fitText(name, 20, glyphs, { cut: "start" })} ` },
          { text: barText(recomputed.ms > 0 ? ms / recomputed.ms : 0, 8, glyphs), style: "bar" },
          { text: ` ${runs} ops, ${formatBytes(bytes)}`, style: "faint" },
        ],
      ),
  ];
}

const mismatchOf = rememberLast((plan: Plan, trace: Trace) => findPlanMismatch(plan, trace));

function findMismatch(document: TraceDocument, plan: Plan): string | undefined {
  const found = mismatchOf(plan, stepOf(document));
  return found === undefined ? undefined : `It does not fit this trace: ${describePlanMismatch(found)}.`;
}
