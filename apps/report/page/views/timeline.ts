import { formatBytes, type MemoryBands } from "@remat/reporting";
import { displaySafeLines } from "@remat/trace/emit";
import { freePlace } from "../charts/free-place.js";
import { CanvasPainter } from "../charts/painter.js";
import { SvgPainter } from "../charts/svg-painter.js";
import { drawTimeline, limitLabel, type TimelineScene, timelineMargin } from "../charts/timeline-scene.js";
import { fill, h } from "../dom.js";
import { latest } from "../latest.js";
import { describeOp, type PageContext } from "../page-context.js";
import type { PageState } from "../state.js";
import { onThemeChange, token } from "../theme.js";
import { type BudgetScale, budgetLine } from "./budget-line.js";
import { choice, exportButtons, section } from "./figure.js";
import { bandLegend } from "./legend.js";
import { mountLives } from "./lives.js";
import { mountMinimap } from "./minimap.js";
import { overlayChoice } from "./overlays.js";
import { exportTimelineCsv } from "./timeline-csv.js";
import { followKeys, timelineKeys } from "./timeline-keys.js";
import { chartHeight, TimelineModel } from "./timeline-model.js";
import { followPointer, type PointerPlace } from "./timeline-pointer.js";

/** Mounts memory over the ops of the step as bands. Dragging zooms in. */
export function mountTimeline(context: PageContext, byCategory: MemoryBands): HTMLElement {
  const { overview, store } = context;
  const model = new TimelineModel(context, byCategory);
  const canvas = h("canvas", {
    class: "chart",
    tabindex: 0,
    role: "slider",
    "aria-label": `Moment of the step. ${timelineKeys}`,
    "aria-valuemin": 0,
    "aria-valuemax": Math.max(0, model.axis.count - 1),
  });
  const legend = h("div", { class: "legend" });
  const controls = timelineControls(context, model);
  const budget = budgetLine(context);
  const lives = mountLives(model);
  const minimap = mountMinimap({
    store,
    bands: byCategory,
    axis: model.axis,
    stretch: () => model.stretch(),
    show: (stretch) => model.show(stretch),
  });
  let place: () => PointerPlace = () => ({ hover: undefined, drag: undefined });
  let frame = 0;
  const paint = (): void => {
    const scene = model.scene();
    draw(canvas, model, scene, place());
    budget.place(scaleOf(model, scene));
    lives.draw();
  };
  const redraw = (): void => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  };
  place = followPointer(canvas, model, redraw);
  followKeys(canvas, model);
  followBands(model, () => {
    fill(legend, ...legendParts(model));
    redraw();
  });
  context.plan.follow(() => {
    fill(legend, ...legendParts(model));
    redraw();
  });
  new ResizeObserver(([entry]) => {
    model.width = Math.floor(entry.contentRect.width);
    canvas.style.height = `${chartHeight}px`;
    redraw();
    minimap.resize(model.width);
  }).observe(canvas);
  // Printing does not wait for the next frame.
  onThemeChange(() => {
    paint();
    fill(legend, ...legendParts(model));
  });
  store.follow((state) => {
    controls.show(state);
    const op = model.current;
    const held = formatBytes(model.shownBands.highestBytes[op] ?? 0);
    canvas.setAttribute("aria-valuenow", String(Math.max(0, op)));
    canvas.setAttribute("aria-valuetext", displaySafeLines(op < 0 ? "no op" : `${describeOp(overview, op)}: ${held}`));
    minimap.show();
    redraw();
  });
  return section(
    "timeline",
    "Memory timeline",
    controls.element,
    budget.controls,
    h("div", { class: "chart-frame" }, canvas, budget.line),
    minimap.element,
    lives.element,
    legend,
  );
}

/** Scale of the chart. */
function scaleOf(model: TimelineModel, scene: TimelineScene): BudgetScale {
  const { top, bottom } = timelineMargin;
  const height = chartHeight - top - bottom;
  const most = Math.max(1, model.maximumBytes);
  return {
    top: (bytes) => top + height * (1 - Math.min(1, bytes / most)),
    bytesAt: (at) => most * Math.min(1, Math.max(0, 1 - (at - top) / height)),
    freePlace: (rows) => freePlace(scene, rows, limitLabel(scene)),
  };
}

function draw(
  canvas: HTMLCanvasElement,
  model: TimelineModel,
  scene: TimelineScene,
  { hover, drag }: PointerPlace,
): void {
  if (model.width === 0) return;
  const painter = new CanvasPainter(canvas, model.width, chartHeight);
  drawTimeline(painter, scene);
  const { left, top, bottom } = timelineMargin;
  const height = chartHeight - top - bottom;
  const { plotWidth } = model;
  if (drag !== undefined) {
    const from = Math.min(drag.from, drag.to);
    const width = Math.abs(drag.to - drag.from) * plotWidth;
    painter.rect(left + from * plotWidth, top, width, height, token("--select"));
  } else if (hover !== undefined) painter.rect(left + hover * plotWidth, top, 1, height, token("--text"));
}

/** Keeps the bands in sync with the state: by category, or by the module that allocated the memory. */
function followBands(model: TimelineModel, onChange: () => void): void {
  const { engine, store } = model.context;
  const ask = latest();
  store.follow(({ by, module }, changed) => {
    if (!changed.has("by") && !(changed.has("module") && by === "module")) return;
    const question = async () => (by === "category" ? model.byCategory : engine.moduleBands(module));
    ask(question, (bands) => {
      model.bands = bands ?? model.byCategory;
      onChange();
    });
  });
}

function legendParts(model: TimelineModel): readonly HTMLElement[] {
  const { by, bands, within } = model.shownBands;
  const isPlan = model.shownBands !== model.bands;
  const others = model.context.overview.meta.hasPlannedStep
    ? " (drawn at matching ops, since its step has others)"
    : "";
  const whose =
    by === "module" ? `Bands are modules that allocated the tensors, within ${within || "the model"}. ` : "";
  return [
    bandLegend(bands.map(({ label, colour }) => ({ label, colour })).reverse()),
    h(
      "span",
      { class: "note" },
      `${whose}${isPlan ? `Under the plan${others}. Dashed: as recorded.${model.freedEarly === undefined ? "" : " Dotted: early release, without recomputation."} ` : ""}The ` +
        "line is the peak within each op. Drag to zoom, or hold Ctrl and turn the wheel.",
    ),
  ];
}

function timelineControls(
  context: PageContext,
  model: TimelineModel,
): { readonly element: HTMLElement; show(state: PageState): void } {
  const { overview, store } = context;
  const by = choice(
    "Bands",
    "timeline-by",
    [
      ["category", "by category"],
      ["module", "by module"],
    ],
    (value) => store.update({ by: value }),
  );
  const over = choice(
    "Over",
    "timeline-axis",
    [
      ["ops", "ops"],
      ["time", "time"],
    ],
    (value) => store.update({ axis: value }),
  );
  const overlays = overlayChoice(context);
  const button = (label: string, name: string, act: () => void): HTMLElement =>
    h("button", { type: "button", "aria-label": name, title: name, onclick: act }, label);
  const drawSvg = (): string => {
    const painter = new SvgPainter(model.width, chartHeight, token("--paper"));
    drawTimeline(painter, model.scene());
    return painter.toString();
  };
  return {
    element: h(
      "div",
      { class: "toolbar" },
      by.element,
      model.axis.hasTime ? over.element : false,
      overlays.element,
      h(
        "span",
        { class: "exports" },
        button("Peak", "Peak: select the op with peak memory", () => model.moveTo(model.shownPeak)),
        button("All", "All: show the whole step", () => model.showAll()),
        button("+", "Zoom in", () => model.zoom(0.5, 0.5)),
        button("−", "Zoom out", () => model.zoom(2, 0.5)),
      ),
      exportButtons(`${overview.meta.title}-timeline`, drawSvg, () =>
        exportTimelineCsv(overview, model.shownBands, model.axis),
      ),
    ),
    show: (state) => {
      by.show(state.by);
      over.show(state.axis);
      overlays.show(state);
    },
  };
}
