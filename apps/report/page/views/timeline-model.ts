import { peakOp } from "@remat/memory";
import { formatBytes, formatMs, type MemoryBands, type SampledBands } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { Overlay } from "../../src/data/report-meta.js";
import { type TimelineScene, timelineMargin } from "../charts/timeline-scene.js";
import type { PageContext } from "../page-context.js";
import { shade, token } from "../theme.js";
import { overlayColour, overlayDash, shownOverlayKeys } from "./overlays.js";
import { phaseStretches, type Stretch, TimelineAxis } from "./timeline-view.js";

export const chartHeight = 358;

/** Minimum number of ops to zoom into. */
const fewestOps = 8;

/** Content of the timeline, and how it changes the state. Independent of pointers and elements. */
export class TimelineModel {
  readonly context: PageContext;
  readonly axis: TimelineAxis;
  /** Bands by category, whatever is shown. */
  readonly byCategory: MemoryBands;
  readonly peak: number;
  bands: MemoryBands;
  /** Width of the chart, in pixels. */
  width = 0;
  /** The last drawn sample, for finding what is under the pointer. */
  drawn: SampledBands | undefined;

  constructor(context: PageContext, byCategory: MemoryBands) {
    this.context = context;
    this.axis = new TimelineAxis(context.overview);
    this.byCategory = byCategory;
    this.bands = byCategory;
    this.peak = peakOp(byCategory);
  }

  get plotWidth(): number {
    return Math.max(1, this.width - timelineMargin.left - timelineMargin.right);
  }

  /** The selected op, or the peak. */
  get current(): number {
    const { op } = this.context.store.state;
    return op < 0 ? this.peak : Math.min(op, this.axis.count - 1);
  }

  stretch(): Stretch {
    const { from, to } = this.context.store.state;
    const { count } = this.axis;
    const end = to < 0 || to > count ? count : to;
    return { from: Math.max(0, Math.min(from, end - 1)), to: end };
  }

  show({ from, to }: Stretch): void {
    const { count } = this.axis;
    const length = Math.max(Math.min(fewestOps, count), Math.min(count, Math.round(to - from)));
    const begin = Math.round(Math.max(0, Math.min(count - length, from)));
    this.context.store.update({ from: begin, to: begin === 0 && length >= count ? -1 : begin + length });
  }

  showAll(): void {
    this.context.store.update({ from: 0, to: -1 });
  }

  /** Shows `factor` times as much and keeps the point at `around`, a share of the width, in place. */
  zoom(factor: number, around: number): void {
    const { from, to } = this.stretch();
    const at = this.opAt(around);
    this.show({ from: at - (at - from) * factor, to: at + (to - at) * factor });
  }

  /** Moves by a share of the visible range. */
  pan(share: number): void {
    const { from, to } = this.stretch();
    const by = share * (to - from);
    this.show({ from: from + by, to: to + by });
  }

  /** Selects an op and scrolls to it. */
  moveTo(op: number): void {
    const next = Math.max(0, Math.min(this.axis.count - 1, op));
    this.context.store.update({ op: next });
    const { from, to } = this.stretch();
    if (next < from || next >= to) this.show({ from: next - (to - from) / 2, to: next + (to - from) / 2 });
  }

  opAt(share: number): number {
    return this.axis.opAt(share, this.stretch(), this.context.store.state.axis);
  }

  shownOverlays(): readonly (Overlay & { readonly index: number; readonly column: Float64Array })[] {
    const { overview, store } = this.context;
    const keys = shownOverlayKeys(store.state, overview.meta.overlays);
    return overview.meta.overlays.flatMap((overlay, index) =>
      keys.has(overlay.key) ? [{ ...overlay, index, column: overview.overlays[index] }] : [],
    );
  }

  /** Memory of the shown step: under a plan, or as recorded. */
  get shownBands(): MemoryBands {
    return this.context.plan.shown.answer?.bands ?? this.bands;
  }

  /** Memory with early release, unless that is already shown. */
  get freedEarly(): Float64Array | undefined {
    const { freedEarly, plan } = this.context.plan.shown;
    return plan?.recomputations === 0 ? undefined : freedEarly;
  }

  /** The op at the shown peak. */
  get shownPeak(): number {
    const { answer } = this.context.plan.shown;
    return answer?.bands === undefined ? this.peak : answer.peakOp;
  }

  /** Bytes at the upper edge of the plot. */
  get maximumBytes(): number {
    const { deviceMemoryBytes } = this.context.overview.meta.verdict ?? {};
    const most = this.mostBytes();
    return (
      Math.max(most, deviceMemoryBytes !== undefined && deviceMemoryBytes <= 1.3 * most ? deviceMemoryBytes : 0) * 1.04
    );
  }

  private mostBytes(): number {
    const { byCategory, peak, shownBands, shownPeak } = this;
    return Math.max(
      byCategory.highestBytes[peak] ?? 0,
      shownBands.highestBytes[shownPeak] ?? 0,
      ...this.shownOverlays().map(({ peakBytes }) => peakBytes),
    );
  }

  scene(): TimelineScene {
    const { axis, byCategory, context, freedEarly, shownBands: bands, shownPeak: peak, width } = this;
    const where = this.stretch();
    const { axis: kind, op } = context.store.state;
    const sample = axis.sample(bands, where, Math.floor(this.plotWidth), kind);
    this.drawn = sample;
    const overlays = this.shownOverlays();
    const highest = bands.highestBytes[peak] ?? 0;
    const { deviceMemoryBytes, device } = context.overview.meta.verdict ?? {};
    const most = this.mostBytes();
    // A line that would flatten everything else is described in words instead.
    const isNear = deviceMemoryBytes !== undefined && deviceMemoryBytes <= 1.3 * most;
    const marks = [{ at: axis.placeOf(peak, where, kind), label: `peak ${formatBytes(highest)}`, isStrong: false }];
    if (op >= 0 && op < axis.count && op !== peak)
      marks.push({ at: axis.placeOf(op, where, kind), label: `op ${op}`, isStrong: true });
    return {
      width,
      height: chartHeight,
      sample,
      bandColours: bands.bands.map(({ colour }) => shade(colour)),
      maximumBytes: this.maximumBytes,
      limit: isNear
        ? { bytes: deviceMemoryBytes, label: `${device} has ${formatBytes(deviceMemoryBytes)}` }
        : undefined,
      overlays: [
        ...(bands === this.bands
          ? []
          : [
              {
                colour: token("--faint"),
                dash: [4, 3],
                bytes: axis.sampleColumn(byCategory.highestBytes, where, sample.count, kind),
              },
              ...(freedEarly === undefined
                ? []
                : [
                    {
                      colour: token("--text"),
                      dash: [1, 3],
                      bytes: axis.sampleColumn(freedEarly, where, sample.count, kind),
                    },
                  ]),
            ]),
        ...overlays.map(({ index, column }) => ({
          colour: overlayColour(index),
          dash: overlayDash(index),
          bytes: axis.sampleColumn(column, where, sample.count, kind),
        })),
      ],
      phases: phaseStretches(context.overview, sample, phaseNames).map((each) => ({
        ...each,
        colour: token(`--phase-${phaseNames[each.phase]}`),
      })),
      marks,
      ticks: ticksOf(axis, where, kind, width),
      ink: {
        limit: token("--accent"),
        text: token("--text"),
        faint: token("--faint"),
        grid: token("--grid"),
        paper: token("--paper"),
      },
    };
  }
}

function ticksOf(
  axis: TimelineAxis,
  { from, to }: Stretch,
  kind: "ops" | "time",
  width: number,
): TimelineScene["ticks"] {
  const count = Math.max(2, Math.floor(width / 130));
  const [low, high] = kind === "ops" ? [from, to] : [axis.msAt(from), axis.msAt(to)];
  if (!(high > low)) return [];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const ticks: [number, string][] = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step)
    ticks.push([
      (at - low) / (high - low),
      kind === "ops" ? `${Math.round(at).toLocaleString("en")}` : formatMs(Number(at.toPrecision(10))),
    ]);
  if (kind === "ops" && ticks.length > 0) ticks[0][1] = `op ${ticks[0][1]}`;
  return ticks;
}
