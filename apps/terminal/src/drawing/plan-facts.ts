import { formatBytes, formatMs, formatPercent } from "@remat/reporting";
import type { Plan } from "@remat/trace";
import { barText, type Glyphs } from "../text/glyphs.js";
import type { Line } from "../text/line.js";

/** Tells what a plan promises, in a few lines. */
export function planFacts(plan: Plan, width: number, glyphs: Glyphs): readonly Line[] {
  const { predicted, origin, subject, steps } = plan;
  const recomputed = steps.filter(({ isRecomputed }) => isRecomputed).length;
  const recorded = predicted.recordedPeakBytes ?? predicted.plain.peakBytes;
  const cost = subject.kind === "trace" ? formatMs(predicted.cost) : `cost ${predicted.cost}`;
  const bar = barText(recorded > 0 ? predicted.peakBytes / recorded : 0, Math.max(8, Math.min(40, width - 12)), glyphs);
  return [
    [{ text: `Plan of ${subject.name}`, style: "strong" }],
    fact("peak", `${formatBytes(predicted.peakBytes)} of ${formatBytes(recorded)} without it`),
    [{ text: " ".repeat(10) }, { text: bar, style: "bar" }],
    fact("budget", formatBytes(origin.budgetBytes)),
    fact("step", `${cost}, ${formatPercent(predicted.overhead)} overhead`),
    fact("work", `${recomputed} of ${steps.length} steps are recomputations`),
    fact(
      "proof",
      predicted.gap <= 1e-6
        ? "nothing within the budget is faster"
        : `at most ${formatPercent(predicted.gap)} from the fastest there can be`,
    ),
    fact("method", `${origin.method}, ${origin.order} order`),
  ];
}

function fact(label: string, text: string): Line {
  return [{ text: `  ${label.padEnd(8)}`, style: "faint" }, { text }];
}
