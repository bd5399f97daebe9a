import { formatBytes } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import { timeFormatOf } from "../../src/data/time-format-of.js";
import { timelineMargin } from "../charts/timeline-scene.js";
import { h } from "../dom.js";
import { hideTooltip, showTooltip } from "../interaction/tooltip.js";
import { describeOp } from "../page-context.js";
import { bandLegend } from "./legend.js";
import type { TimelineModel } from "./timeline-model.js";

/** Position of the pointer, and the dragged range, as shares of the plot. */
export interface PointerPlace {
  readonly hover: number | undefined;
  readonly drag: { readonly from: number; readonly to: number } | undefined;
}

/**
 * Handles the pointer: dragging zooms, a click selects, a double click shows everything; Ctrl+wheel zooms, a sideways
 * wheel pans.
 */
export function followPointer(canvas: HTMLCanvasElement, model: TimelineModel, redraw: () => void): () => PointerPlace {
  const { store } = model.context;
  let hover: number | undefined;
  let drag: { readonly from: number; to: number } | undefined;
  /** The selection before the last click, which may be the first of a double click. */
  let selected = store.state.op;
  let clickedAt = Number.NEGATIVE_INFINITY;
  const shareOf = (event: MouseEvent): number => {
    const box = canvas.getBoundingClientRect();
    const { left, right } = timelineMargin;
    return Math.min(1, Math.max(0, (event.clientX - box.left - left) / Math.max(1, box.width - left - right)));
  };
  canvas.addEventListener("pointermove", (event) => {
    hover = shareOf(event);
    if (drag !== undefined) drag.to = hover;
    tell(model, hover, event);
    redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    hover = undefined;
    hideTooltip();
    redraw();
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { from: shareOf(event), to: shareOf(event) };
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag === undefined) return;
    const [a, b] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    drag = undefined;
    if ((b - a) * model.plotWidth > 4) model.show({ from: model.opAt(a), to: model.opAt(b) + 1 });
    else {
      const { drawn } = model;
      if (event.timeStamp - clickedAt > 500) selected = store.state.op;
      clickedAt = event.timeStamp;
      if (drawn !== undefined && drawn.count > 0)
        store.update({ op: drawn.op[Math.min(drawn.count - 1, Math.floor(b * drawn.count))] });
    }
    redraw();
  });
  canvas.addEventListener("pointercancel", () => {
    drag = undefined;
    redraw();
  });
  canvas.addEventListener("dblclick", () => {
    store.update({ op: selected });
    model.showAll();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) model.zoom(Math.exp(event.deltaY / 300), shareOf(event));
      else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) model.pan(sideways / model.plotWidth);
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
  return () => ({ hover, drag });
}

/** Shows the op under the pointer, and the memory in use then. */
function tell(model: TimelineModel, share: number, event: PointerEvent): void {
  const { drawn, shownBands: bands, axis, context } = model;
  if (drawn === undefined || drawn.count === 0) return;
  const { overview } = context;
  const bucket = Math.min(drawn.count - 1, Math.floor(share * drawn.count));
  const op = drawn.op[bucket];
  const held = bands.bands
    .map(({ label, colour }, b) => ({ label, colour, bytes: drawn.bands[b]?.[bucket] ?? 0 }))
    .filter(({ bytes }) => bytes > 0)
    .reverse();
  showTooltip(
    event.clientX,
    event.clientY,
    h("strong", {}, describeOp(overview, op)),
    h("span", {}, `${phaseNames[overview.ops.phase[op]]}, begins at ${timeFormatOf(overview.meta)(axis.msAt(op))}`),
    h("span", {}, `${formatBytes(drawn.totalBytes[bucket])} in use, peak ${formatBytes(drawn.highestBytes[bucket])}`),
    bandLegend(held.map((band) => ({ ...band, value: formatBytes(band.bytes) }))),
    ...model
      .shownOverlays()
      .map(({ label, column }) =>
        h("span", {}, `${label}: ${Number.isNaN(column[op]) ? "unknown" : formatBytes(column[op])}`),
      ),
  );
}
