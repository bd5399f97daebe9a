import type { SampledBands } from "@remat/reporting";
import { byteTicks } from "./byte-axis.js";
import type { Painter } from "./painter.js";

/** A box in pixels of the chart. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Content of a timeline chart. Positions are pixels within the plot. Buckets are equally wide. */
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
  /** Memory of the device, or undefined if it is unknown, or far above everything in the chart. */
  readonly limit: { readonly bytes: number; readonly label: string } | undefined;
  /** Ranges of one phase, as shares of the width. */
  readonly phases: readonly {
    readonly label: string;
    readonly colour: string;
    readonly from: number;
    readonly to: number;
  }[];
  /** Marked positions, as shares of the width. */
  readonly marks: readonly { readonly at: number; readonly label: string; readonly isStrong: boolean }[];
  readonly ticks: readonly (readonly [at: number, label: string])[];
  readonly ink: {
    readonly limit: string;
    readonly text: string;
    readonly faint: string;
    readonly grid: string;
    readonly paper: string;
  };
}

export const timelineMargin = { left: 68, right: 12, top: 48, bottom: 24 } as const;

/** Distance from the top of a label to its baseline. */
const labelAscent = 11;

/** Draws a timeline: phases above, bands, the highest memory within ops, overlays, marks, axes. */
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
  // Two points per bucket, because memory changes in steps.
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
    // A thin line between neighbours, so that edges do not depend on colour alone.
    if (b > 0) painter.line(x, lower, ink.paper, { width: 0.75 });
    lower = upper;
  }
  painter.line(x, stepped(sample.highestBytes), ink.text, { width: 1 });
  for (const { colour, dash, bytes } of scene.overlays) {
    painter.line(x, stepped(bytes), ink.paper, { width: 4 });
    painter.line(x, stepped(bytes), colour, { width: 2, dash });
  }
  if (scene.limit !== undefined) {
    const at = y(scene.limit.bytes);
    painter.line(Float64Array.of(left, left + plotWidth), Float64Array.of(at, at), ink.paper, { width: 4 });
    painter.line(Float64Array.of(left, left + plotWidth), Float64Array.of(at, at), ink.limit, { width: 2 });
    const [label] = limitLabel(scene);
    // Over bands the text would be unreadable.
    painter.rect(label.left - 2, label.top, label.width, label.height, ink.paper);
    painter.text(label.left, label.top + labelAscent, scene.limit.label, ink.limit, {
      anchor: "start",
      isStrong: true,
    });
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

/** Returns the box of the label of the device's memory line, or empty if there is no such line. */
export function limitLabel({ limit, height, maximumBytes }: TimelineScene): readonly Box[] {
  if (limit === undefined) return [];
  const { left, top, bottom } = timelineMargin;
  const at = top + Math.max(1, height - top - bottom) * (1 - limit.bytes / Math.max(1, maximumBytes));
  // A line near the top has empty space below it at the left, because memory starts low.
  const base = at + (at < top + 20 ? 15 : -5);
  return [{ left: left + 6, top: base - labelAscent, width: limit.label.length * 7.6, height: labelAscent + 4 }];
}

function drawPhases(painter: Painter, { phases, ink }: TimelineScene, plotWidth: number): void {
  const { left, top } = timelineMargin;
  for (const { label, colour, from, to } of phases) {
    const width = Math.max(1, (to - from) * plotWidth);
    painter.rect(left + from * plotWidth, top - 26, width, 4, colour);
    if (width > label.length * 6.5 + 8) painter.text(left + from * plotWidth + 1, top - 30, label, ink.faint);
  }
}

/** Labels are above the plot, so that they do not cover it, and next to each other. */
function drawMarks(painter: Painter, { marks, ink }: TimelineScene, plotWidth: number, plotHeight: number): void {
  const { left, top } = timelineMargin;
  const taken: (readonly [from: number, to: number])[] = [];
  for (const { at, label, isStrong } of marks) {
    if (at < 0 || at > 1) continue;
    const x = left + at * plotWidth;
    painter.line(Float64Array.of(x, x), Float64Array.of(top - 4, top + plotHeight), ink.text, {
      width: isStrong ? 1.5 : 1,
      ...(!isStrong && { dash: [3, 3] }),
    });
    const width = label.length * 6.6 + 4;
    const places = [x - width / 2, x - width - 4, x + 4]
      .map((from) => Math.max(left, Math.min(left + plotWidth - width, from)))
      .map((from) => [from, from + width] as const);
    const [from, to] =
      places.find(([begin, end]) => taken.every(([other, otherEnd]) => end < other || begin > otherEnd)) ?? places[0];
    taken.push([from, to]);
    painter.text((from + to) / 2, top - 9, label, ink.text, { anchor: "middle", isStrong });
  }
}
