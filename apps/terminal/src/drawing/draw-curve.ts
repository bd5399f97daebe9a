import { formatPercent, type PolicyView, type TradeOffView } from "@remat/reporting";
import { DotCanvas } from "../text/dot-canvas.js";
import type { Drawn } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import type { Line, Span } from "../text/line.js";

const axisWidth = 8;

/** A curve, the budget, and the points of policies. */
export interface CurveOptions {
  readonly view: TradeOffView;
  readonly budgetShare: number;
  readonly greedy: PolicyView;
  readonly optimal: PolicyView | undefined;
  readonly glyphs: Glyphs;
}

/**
 * Draws a trade-off between memory and time, with more memory kept further right. A click on it selects a share of
 * memory to keep.
 */
export function drawCurve(
  { view, budgetShare, greedy, optimal, glyphs }: CurveOptions,
  { width, height }: { readonly width: number; readonly height: number },
): Drawn {
  const plotWidth = Math.max(10, width - axisWidth);
  const canvas = new DotCanvas(plotWidth, height - 2, glyphs);
  const top = Math.max(0.01, ...view.points.map(([, y]) => y));
  const at = (y: number): number => Math.max(0, Math.min(1, y / top));
  for (const { from, to } of view.pieces) canvas.line(1 - from[0], at(from[1]), 1 - to[0], at(to[1]), "faint");
  for (let i = 1; i < view.points.length; i++) {
    const [[x0, y0], [x1, y1]] = [view.points[i - 1], view.points[i]];
    // Evicting the next op costs its whole time at once.
    canvas.line(1 - x0, at(y0), 1 - x0, at(y1), "accent");
    canvas.line(1 - x0, at(y1), 1 - x1, at(y1), "accent");
  }
  canvas.line(budgetShare, 0, budgetShare, 1, "warning");
  const mark = (policy: PolicyView, text: string, style: Span["style"]): void => {
    if (view.memoryBytes > 0 && view.runtimeMs > 0)
      canvas.mark(policy.storedBytes / view.memoryBytes, at(policy.recomputationMs / view.runtimeMs), text, style);
  };
  mark(greedy, glyphs.point, "strong");
  if (optimal !== undefined) mark(optimal, glyphs.optimum, "good");
  const lines = canvas.lines().map((line, row, all): Line => {
    const label = row === 0 ? formatPercent(top) : row === all.length - 1 ? "0%" : "";
    return [
      { text: fitText(label, axisWidth - 1, glyphs, { align: "right" }), style: "faint" },
      { text: glyphs.vertical, style: "faint" },
      ...line,
    ];
  });
  const axis: Line = [
    { text: " ".repeat(axisWidth - 1) },
    { text: glyphs.corner + glyphs.horizontal.repeat(plotWidth), style: "faint" },
  ];
  const long = "memory saved (across), recomputation as a share of forward (up)";
  const caption = plotWidth >= long.length + 10 ? long : "memory saved, recomputation";
  const labels: Line = [
    { text: " ".repeat(axisWidth) },
    { text: "0%", style: "faint" },
    { text: centred(fitText(caption, plotWidth - 8, glyphs)), style: "faint" },
    { text: "100%", style: "faint" },
  ];
  return {
    lines: [...lines, axis, labels],
    regions: [{ x: axisWidth, y: 0, width: plotWidth, height: height - 2, target: { kind: "plot", share: 0 } }],
  };
}

function centred(line: string): string {
  const text = line.trimEnd();
  const spaces = line.length - text.length;
  const before = Math.floor(spaces / 2);
  return " ".repeat(before) + text + " ".repeat(spaces - before);
}
