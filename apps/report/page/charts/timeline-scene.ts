import type { SampledBands } from "@remat/reporting";
import { byteTicks } from "./byte-axis.js";
import type { Painter } from "./painter.js";

/** What of a timeline is drawn. Places are pixels within the plot; buckets are equally wide. */
export interface TimelineScene {
  readonly width: number;
  readonly height: number;
  readonly sample: SampledBands;
  readonly bandColours: readonly string[];
  readonly maximumBytes: number;
  readonly overlays: readonly {
    readonly colour: string;
    readonly dash: readonly number[];
    readonly bytes: Float64Array;
  }[];
  /** Stretches of one phase, from and to as shares of the width. */
  readonly phases: readonly {
    readonly label: string;
    readonly colour: string;
    readonly from: number;
    readonly to: number;
  }[];
  /** Marked places, as shares of the width. */
  readonly marks: readonly { readonly at: number; readonly label: string; readonly isStrong: boolean }[];
  readonly ticks: readonly (readonly [at: number, label: string])[];
  readonly ink: { readonly text: string; readonly faint: string; readonly grid: string; readonly paper: string };
}

export const timelineMargin = { left: 68, right: 12, top: 30, bottom: 24 } as const;

/** Draws a timeline: phases above, bands, the most held within ops, overlays, marks, axes. */
export function drawTimeline(painter: Painter, scene: TimelineScene): void {
  const { left, right, top, bottom } = timelineMargin;
  const { sample, ink, maximumBytes } = scene;
  const plotWidth = Math.max(1, scene.width - left - right);
  const plotHeight = Math.max(1, scene.height - top - bottom);
  const y = (bytes: number): number => top + plotHeight * (1 - bytes / Math.max(1, maximumBytes));
  for (const [bytes, label] of byteTicks(maximumBytes)) {
    painter.rect(left, Math.round(y(bytes)), plotWidth, 1, ink.grid);
    painter.text(left - 8, y(bytes) + 4, label, ink.faint, { anchor: "end" });
  }
  // Two points a bucket: memory changes in steps.
  const x = new Float64Array(2 * sample.count);
  for (let i = 0; i < sample.count; i++) {
    x[2 * i] = left + (i / sample.count) * plotWidth;
    x[2 * i + 1] = left + ((i + 1) / sample.count) * plotWidth;
  }
  const stepped = (bytes: Float64Array): Float64Array => {
    const out = new Float64Array(2 * sample.count);
    for (let i = 0; i < sample.count; i++) out[2 * i] = out[2 * i + 1] = y(bytes[i]);
    return out;
  };
  const base = new Float64Array(sample.count);
  let lower = stepped(base);
  for (const [b, bytes] of sample.bands.entries()) {
    for (let i = 0; i < base.length; i++) base[i] += bytes[i];
    const upper = stepped(base);
    painter.area(x, upper, lower, scene.bandColours[b]);
    // A hair of paper between neighbours, so that edges do not rest on colour alone.
    if (b > 0) painter.line(x, lower, ink.paper, { width: 0.75 });
    lower = upper;
  }
  painter.line(x, stepped(sample.highestBytes), ink.text, { width: 1 });
  for (const { colour, dash, bytes } of scene.overlays) {
    painter.line(x, stepped(bytes), ink.paper, { width: 4 });
    painter.line(x, stepped(bytes), colour, { width: 2, dash });
  }
  drawPhases(painter, scene, plotWidth);
  drawMarks(painter, scene, plotWidth, plotHeight);
  painter.rect(left, top + plotHeight, plotWidth, 1, ink.faint);
  for (const [at, label] of scene.ticks) {
    const place = left + at * plotWidth;
    painter.rect(place, top + plotHeight, 1, 4, ink.faint);
    painter.text(place, top + plotHeight + 17, label, ink.faint, {
      anchor: at < 0.03 ? "start" : at > 0.97 ? "end" : "middle",
    });
  }
}

function drawPhases(painter: Painter, { phases, ink }: TimelineScene, plotWidth: number): void {
  const { left, top } = timelineMargin;
  for (const { label, colour, from, to } of phases) {
    const width = Math.max(1, (to - from) * plotWidth);
    painter.rect(left + from * plotWidth, top - 8, width, 4, colour);
    if (width > label.length * 6.5 + 8) painter.text(left + from * plotWidth + 1, top - 12, label, ink.faint);
  }
}

function drawMarks(painter: Painter, { marks, ink }: TimelineScene, plotWidth: number, plotHeight: number): void {
  const { left, top } = timelineMargin;
  for (const { at, label, isStrong } of marks) {
    if (at < 0 || at > 1) continue;
    const x = left + at * plotWidth;
    painter.line(Float64Array.of(x, x), Float64Array.of(top - 2, top + plotHeight), ink.text, {
      width: isStrong ? 1.5 : 1,
      ...(!isStrong && { dash: [3, 3] }),
    });
    const isRight = at > 0.8;
    const width = label.length * 6.6 + 10;
    painter.rect(isRight ? x - width - 3 : x + 3, top + 2, width, 18, ink.paper);
    painter.text(isRight ? x - 8 : x + 8, top + 15, label, ink.text, { anchor: isRight ? "end" : "start", isStrong });
  }
}
