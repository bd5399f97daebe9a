import type { HeldStorage } from "@remat/mem-tracker";
import {
  type Cell,
  formatBytes,
  formatPercent,
  type MemoryBands,
  peakOp,
  sampleBands,
  tellsLifetimes,
  type ViewTable,
} from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { App } from "../app/app.js";
import type { Area, View } from "../app/view.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import { fitLine, type Line } from "../text/line.js";
import { drawBands, legendOf } from "./draw-bands.js";
import { modulesView } from "./modules-view.js";

const axisWidth = 10;
const smallestSpan = 8;

/** What is held over the ops of the step, by category or module, and what is alive at the cursor. */
export const memoryView: View = {
  name: "memory",
  title: "Memory",
  draw: drawMemory,
  wheel: (app, steps) => zoom(app, steps < 0 ? 0.5 : 2),
  click(app, target) {
    if (target.kind !== "plot") return;
    const { from, to } = range(app);
    setCursor(app, from + Math.round(target.share * (to - from - 1)));
  },
  actions: {
    left: (app) => setCursor(app, cursorOp(app) - stepOf(app)),
    right: (app) => setCursor(app, cursorOp(app) + stepOf(app)),
    farLeft: (app) => setCursor(app, cursorOp(app) - tenth(app)),
    farRight: (app) => setCursor(app, cursorOp(app) + tenth(app)),
    top: (app) => setCursor(app, 0),
    bottom: (app) => setCursor(app, bands(app).count - 1),
    pageUp: (app) => setCursor(app, cursorOp(app) - span(app)),
    pageDown: (app) => setCursor(app, cursorOp(app) + span(app)),
    zoomIn: (app) => zoom(app, 0.5),
    zoomOut: (app) => zoom(app, 2),
    peak: (app) => setCursor(app, peakOp(app.document.timeline())),
    bands(app) {
      app.state.memory.by = app.state.memory.by === "category" ? "module" : "category";
    },
    enter(app) {
      const fqn = app.document.memoryTrace().opModule(cursorOp(app))?.fqn;
      if (fqn !== undefined && app.selectModule(fqn)) modulesView.actions.enter?.(app);
    },
    back(app) {
      const { count } = bands(app);
      const { from, to } = range(app);
      if (from > 0 || to < count) app.state.memory = { ...app.state.memory, from: 0, to: count };
      else app.state.view = "modules";
    },
  },
  search: (app) => {
    const trace = app.document.memoryTrace();
    return {
      count: trace.ops.count,
      text: (op) => `${op} ${trace.opName(op)} ${trace.opModule(op)?.fqn ?? ""}`,
      current: cursorOp(app),
      show: (op) => setCursor(app, op),
    };
  },
  table: exportTable,
  copied: (app) => app.document.memoryTrace().opModule(cursorOp(app))?.fqn,
};

function drawMemory(app: App, { width, height }: Area): Drawn {
  const { glyphs, document } = app;
  if (document.trace.ops.count === 0) return textOnly([{ text: "This trace has no ops.", style: "faint" }]);
  const shown = bands(app);
  const { from, to } = range(app);
  const op = cursorOp(app);
  const plotWidth = Math.max(10, width - axisWidth);
  const heldLines = Math.max(3, Math.min(14, Math.floor(height * 0.36)));
  const plotHeight = Math.max(4, height - heldLines - 4);
  const sample = sampleBands(shown, { from, to, buckets: plotWidth });
  const peak = peakOp(document.timeline());
  const peakBytes = document.timeline().highestBytes[peak] ?? 0;
  const bucketOf = (at: number): number => Math.floor(((at - from) * sample.count) / Math.max(1, to - from));
  const plot = drawBands(shown, sample, {
    height: plotHeight,
    width: plotWidth,
    top: peakBytes,
    cursor: bucketOf(op),
    glyphs,
    theme: app.theme,
  });
  const marks = new Array<string>(plotWidth).fill(" ");
  const stretch = plotWidth / Math.max(1, sample.count);
  if (peak >= from && peak < to) marks[Math.floor(bucketOf(peak) * stretch)] = glyphs.peak;
  const title: Line = [
    { text: "peak ", style: "faint" },
    { text: formatBytes(peakBytes), style: "bad" },
    { text: ` at op ${peak}`, style: "faint" },
    { text: `   ops ${from} to ${to - 1} of ${shown.count}, by ${app.state.memory.by}`, style: "faint" },
    ...(document.settings.worldSize > 1
      ? [{ text: `, one rank of ${document.settings.worldSize}`, style: "accent" as const }]
      : []),
    ...(tellsLifetimes(document.trace)
      ? []
      : [{ text: "   the trace does not tell what is freed", style: "warning" as const }]),
  ];
  const rows = plot.map((line, row): Line => {
    const label =
      row === 0
        ? formatBytes(peakBytes)
        : row === plot.length - 1
          ? "0 B"
          : row === Math.floor(plot.length / 2)
            ? formatBytes(peakBytes / 2)
            : "";
    return [
      { text: fitText(label, axisWidth - 1, glyphs, { align: "right" }), style: "faint" },
      { text: glyphs.vertical, style: "faint" },
      ...line,
    ];
  });
  return stack(
    textOnly(fitLine(title, width, glyphs), [{ text: " ".repeat(axisWidth) }, { text: marks.join(""), style: "bad" }]),
    {
      lines: rows,
      regions: [{ x: axisWidth, y: 0, width: plotWidth, height: plotHeight, target: { kind: "plot", share: 0 } }],
    },
    textOnly(fitLine([{ text: " ".repeat(axisWidth) }, ...legendOf(shown, app.glyphs, app.theme)], width, glyphs)),
    textOnly(...heldAt(app, op, width, heldLines)),
  );
}

/** What is alive at the cursor. */
function heldAt(app: App, op: number, width: number, height: number): readonly Line[] {
  const trace = app.document.memoryTrace();
  const moment = app.document.momentAfter(op);
  const head: Line = [
    { text: `op ${op} ${trace.opName(op)}`, style: "strong" },
    { text: `  ${phaseNames[trace.ops.phase[op]]}`, style: "faint" },
    { text: `  ${trace.opModule(op)?.fqn ?? "(no module)"}` },
    { text: `  holds ${formatBytes(moment.totalBytes)}`, style: "warning" },
    { text: ` in ${moment.storageCount} storages; the largest:`, style: "faint" },
  ];
  return [
    fitLine(head, width, app.glyphs),
    ...moment.largest
      .slice(0, height - 1)
      .map((held) => fitLine(heldLine(app, held, moment.totalBytes), width, app.glyphs)),
  ];
}

function heldLine(app: App, { bytes, category, dtype, shape, maker }: HeldStorage, total: number): Line {
  const { glyphs } = app;
  return [
    { text: fitText(formatBytes(bytes), 11, glyphs, { align: "right" }) },
    { text: fitText(formatPercent(total > 0 ? bytes / total : 0), 8, glyphs, { align: "right" }), style: "faint" },
    { text: " " },
    { text: fitText(category, 15, glyphs), style: app.categoryStyle(category) },
    { text: fitText(shape === undefined ? "" : `${dtype}[${shape.join(",")}]`, 26, glyphs) },
    {
      text: ` ${maker === undefined ? "(there before, or not by an op)" : `${maker.opName} of ${maker.module ?? "(no module)"}`}`,
      style: "faint",
    },
  ];
}

function exportTable(app: App): ViewTable {
  const { from, to } = range(app);
  const shown = bands(app);
  const trace = app.document.memoryTrace();
  return {
    title: `Memory of ${app.document.name.title}, ops ${from} to ${to - 1}`,
    columns: [
      "op",
      "name",
      "phase",
      "module",
      "totalBytes",
      "highestBytes",
      ...shown.bands.map(({ key }) => `${key || "other"}Bytes`),
    ],
    rows: Array.from({ length: to - from }, (_, i): Cell[] => {
      const op = from + i;
      return [
        op,
        trace.opName(op),
        phaseNames[trace.ops.phase[op]],
        trace.opModule(op)?.fqn,
        shown.totalBytes[op],
        shown.highestBytes[op],
        ...shown.bands.map(({ bytes }) => bytes[op]),
      ];
    }),
  };
}

function bands(app: App): MemoryBands {
  return app.state.memory.by === "category" ? app.document.categoryBands() : app.document.moduleBands("");
}

/** The ops that are shown; all at first, and after another number of ranks has been chosen. */
function range(app: App): { readonly from: number; readonly to: number } {
  const { count } = bands(app);
  const { memory } = app.state;
  if (memory.to <= memory.from || memory.to > count) app.state.memory = { ...memory, from: 0, to: count };
  return app.state.memory;
}

function cursorOp(app: App): number {
  const { count } = bands(app);
  if (app.state.memory.op < 0) app.state.memory.op = Math.max(0, peakOp(app.document.timeline()));
  return Math.min(app.state.memory.op, count - 1);
}

function span(app: App): number {
  const { from, to } = range(app);
  return to - from;
}

/** Ops that one column of the picture stands for. */
function stepOf(app: App): number {
  return Math.max(1, Math.round(span(app) / Math.max(10, app.state.size.columns - axisWidth)));
}

function tenth(app: App): number {
  return Math.max(1, Math.round(span(app) / 10));
}

/** Moves the cursor, and what is shown with it where the cursor would leave it. */
function setCursor(app: App, wanted: number): void {
  const { count } = bands(app);
  const op = Math.max(0, Math.min(count - 1, wanted));
  const { from, to } = range(app);
  const width = to - from;
  const first = op < from ? op : op >= to ? op - width + 1 : from;
  app.state.memory = { ...app.state.memory, op, from: first, to: first + width };
}

function zoom(app: App, factor: number): void {
  const { count } = bands(app);
  const { from, to } = range(app);
  const op = cursorOp(app);
  const width = Math.max(Math.min(smallestSpan, count), Math.min(count, Math.round((to - from) * factor)));
  const share = to > from ? (op - from) / (to - from) : 0.5;
  const first = Math.max(0, Math.min(count - width, Math.round(op - share * width)));
  app.state.memory = { ...app.state.memory, op, from: first, to: first + width };
}
