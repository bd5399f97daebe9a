import { bytesOfBudget, parseBudget, peakOp } from "@remat/memory";
import { type Cell, formatBytes, type MemoryBands, sampleBands, type ViewTable } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import { formatBudget } from "@remat/trace/text";
import { findModule } from "../document/find-module.js";
import { heldPlan, nextBudget, noPlans, type PlansState, planBands } from "../document/step-plans.js";
import { budgetFactsOf, planHeldLines, withBudgetLine } from "../drawing/budget-line.js";
import { drawBands, legendOf } from "../drawing/draw-bands.js";
import { heldLines } from "../drawing/held-lines.js";
import { askForPlan, plansAfter } from "../state/ask-for-plan.js";
import type { Motion } from "../state/motion.js";
import type { Outcome, Scene, View, ViewAction, ViewRequest } from "../state/view.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import { fitLine, type Line } from "../text/line.js";
import { themeOfLook } from "../text/look.js";

/** Limits the list of modules, which may be long. All categories fit in this many lines of 60 columns. */
const mostLegendRows = 5;
const leastPlotRows = 4;
const axisWidth = 10;
const smallestSpan = 8;

export interface MemoryState {
  /** First op shown, and the end of the range (exclusive). Equal values mean all ops. */
  readonly from: number;
  readonly to: number;
  /** Op of the cursor, or -1 for the peak's. */
  readonly op: number;
  readonly by: "category" | "module";
  /** Budget of the step, or undefined for none. */
  readonly budgetBytes: number | undefined;
  /** Plans to choose from, and the memory of the one within the budget. */
  readonly plans: PlansState;
}

export type MemoryKey =
  | "left"
  | "right"
  | "farLeft"
  | "farRight"
  | "zoomIn"
  | "zoomOut"
  | "peak"
  | "bands"
  | "held"
  | "budget"
  | "noBudget";

/** Memory over the ops of the step, by category or module, and the storages alive at the cursor. */
export const memoryView: View<MemoryState, MemoryKey> = {
  name: "memory",
  title: "Memory",
  shortTitle: "Mem",
  keys: [
    { keys: ["left", "h"], action: "left", help: "move the cursor back", hint: "cursor", hintKeys: "Left Right" },
    { keys: ["right", "l"], action: "right", help: "move the cursor forward" },
    { keys: ["shift+left", "H", "<"], action: "farLeft", help: "back by a tenth of the view" },
    { keys: ["shift+right", "L", ">"], action: "farRight", help: "forward by a tenth of the view" },
    { keys: ["+", "="], action: "zoomIn", help: "zoom in around the cursor", hint: "zoom", hintKeys: "+ -" },
    { keys: ["-"], action: "zoomOut", help: "zoom out" },
    { keys: ["p"], action: "peak", help: "to the peak", hint: "peak" },
    { keys: ["a"], action: "held", help: "all live tensors at the cursor, as a tree", hint: "live tensors" },
    {
      keys: ["B"],
      action: "budget",
      help: "type a budget for the step; Up and Down move between plans",
      hint: "budget",
      hintKeys: "Up Down",
    },
    { keys: ["x"], action: "noBudget", help: "no budget: the step as recorded" },
    { keys: ["b"], action: "bands", help: "bands by category, or by the module that allocated the tensors" },
  ],
  initial: () => ({ from: 0, to: 0, op: -1, by: "category", budgetBytes: undefined, plans: noPlans }),
  reduce: (scene, own, action) => reduce(scene, settled(scene, own), action),
  settle: (scene, own) => askForPlan(scene.document, settled(scene, own)),
  draw: (scene, own) => drawMemory(scene, settled(scene, own)),
  search(scene, own) {
    const trace = scene.document.memoryTrace();
    return {
      count: trace.ops.count,
      text: (op) => `${op} ${trace.opName(op)} ${trace.opModule(op)?.fqn ?? ""}`,
      current: settled(scene, own).op,
    };
  },
  table: (scene, own) => exportTable(scene, settled(scene, own)),
  copied: (scene, own) => scene.document.memoryTrace().opModule(settled(scene, own).op)?.fqn,
};

/** Shows all ops at first, and after a change of the number of ranks. The cursor starts at the peak. */
function settled(scene: Scene, own: MemoryState): MemoryState {
  const { count } = bands(scene, own);
  const fits = own.to > own.from && own.to <= count;
  const op = Math.min(own.op < 0 ? Math.max(0, peakOp(scene.document.timeline())) : own.op, Math.max(0, count - 1));
  if (fits && op === own.op) return own;
  return { ...own, op, ...(!fits && { from: 0, to: count }) };
}

function reduce(scene: Scene, own: MemoryState, action: ViewAction<MemoryKey>): Outcome<MemoryState> {
  const { from, to, op } = own;
  switch (action.kind) {
    case "key":
      if (action.action === "held")
        return { own, requests: [{ kind: "drillInto", view: "held", module: scene.module, op }] };
      if (action.action === "budget")
        return {
          own,
          requests: [
            {
              kind: "ask",
              label: "budget: ",
              text: own.budgetBytes === undefined ? "" : formatBudget(own.budgetBytes),
              hint: "a size or a share of the peak, e.g. 2GiB or 60%",
            },
          ],
        };
      if (action.action === "noBudget") return { own: { ...own, budgetBytes: undefined } };
      return { own: onKey(scene, own, action.action) };
    case "move":
      if (action.motion === "up" || action.motion === "down")
        return { own: { ...own, budgetBytes: nextBudget(own, recordedPeak(scene), action.motion) } };
      return { own: onMove(scene, own, action.motion) };
    case "wheel":
      return { own: zoom(scene, own, action.steps < 0 ? 0.5 : 2) };
    case "click":
      if (action.target.kind !== "plot") return { own };
      return { own: setCursor(scene, own, from + Math.round(action.target.share * (to - from - 1))) };
    case "enter":
      return { own, requests: drillIn(scene, op) };
    case "back": {
      const { count } = bands(scene, own);
      if (from > 0 || to < count) return { own: { ...own, from: 0, to: count } };
      return { own, requests: [{ kind: "leave" }] };
    }
    case "choose":
      return { own: setCursor(scene, own, action.index) };
    case "answer":
      return { own: { ...own, plans: plansAfter(own.plans, action.answer) } };
    case "accepted":
      return typedBudget(scene, own, action.text);
    case "typed":
    case "arrive":
      return { own };
  }
}

const recordedPeak = ({ document }: Scene): number =>
  document.timeline().highestBytes[peakOp(document.timeline())] ?? 0;

function typedBudget(scene: Scene, own: MemoryState, text: string): Outcome<MemoryState> {
  if (text.trim() === "") return { own: { ...own, budgetBytes: undefined } };
  try {
    return { own: { ...own, budgetBytes: bytesOfBudget(parseBudget(text), recordedPeak(scene)) } };
  } catch (error) {
    return { own, requests: [{ kind: "tell", text: (error as Error).message, isWarning: true }] };
  }
}

function onMove(scene: Scene, own: MemoryState, motion: Motion): MemoryState {
  const { from, to, op } = own;
  switch (motion) {
    case "up":
    case "down":
      return own;
    case "pageUp":
      return setCursor(scene, own, op - (to - from));
    case "pageDown":
      return setCursor(scene, own, op + (to - from));
    case "top":
      return setCursor(scene, own, 0);
    case "bottom":
      return setCursor(scene, own, Number.MAX_SAFE_INTEGER);
  }
}

function onKey(
  scene: Scene,
  own: MemoryState,
  action: Exclude<MemoryKey, "held" | "budget" | "noBudget">,
): MemoryState {
  const { from, to, op } = own;
  // Number of ops in one column of the picture.
  const column = Math.max(1, Math.round((to - from) / Math.max(10, scene.area.width - axisWidth)));
  const tenth = Math.max(1, Math.round((to - from) / 10));
  switch (action) {
    case "left":
      return setCursor(scene, own, op - column);
    case "right":
      return setCursor(scene, own, op + column);
    case "farLeft":
      return setCursor(scene, own, op - tenth);
    case "farRight":
      return setCursor(scene, own, op + tenth);
    case "zoomIn":
      return zoom(scene, own, 0.5);
    case "zoomOut":
      return zoom(scene, own, 2);
    case "peak":
      return setCursor(scene, own, peakOp(scene.document.timeline()));
    case "bands":
      return { ...own, by: own.by === "category" ? "module" : "category" };
  }
}

/** The op at the cursor, if the trace has it, or else its module. */
function drillIn({ document, module }: Scene, op: number): readonly ViewRequest[] {
  const within = document.memoryTrace().opModule(op)?.fqn;
  const known = findModule(document.tree(), within)?.fqn ?? module;
  const inTrace = document.opInTrace(op);
  if (inTrace !== undefined) return [{ kind: "drillInto", view: "ops", module: known, op: inTrace }];
  return [
    { kind: "drillInto", view: "ops", module: known },
    { kind: "tell", text: `op ${op} is not in the trace: it was added by sharding` },
  ];
}

/** Moves the cursor, and scrolls if it would leave the visible range. */
function setCursor(scene: Scene, own: MemoryState, wanted: number): MemoryState {
  const { count } = bands(scene, own);
  const { from, to } = own;
  const op = Math.max(0, Math.min(count - 1, wanted));
  const width = to - from;
  const first = op < from ? op : op >= to ? op - width + 1 : from;
  return { ...own, op, from: first, to: first + width };
}

function zoom(scene: Scene, own: MemoryState, factor: number): MemoryState {
  const { count } = bands(scene, own);
  const { from, to, op } = own;
  const width = Math.max(Math.min(smallestSpan, count), Math.min(count, Math.round((to - from) * factor)));
  const share = to > from ? (op - from) / (to - from) : 0.5;
  const first = Math.max(0, Math.min(count - width, Math.round(op - share * width)));
  return { ...own, from: first, to: first + width };
}

function bands({ document }: Scene, { by }: MemoryState): MemoryBands {
  return by === "category" ? document.categoryBands() : document.moduleBands("");
}

function drawMemory(scene: Scene, own: MemoryState): Drawn {
  const { document, look } = scene;
  const { width, height } = scene.area;
  const { glyphs } = look;
  const theme = themeOfLook(look);
  if (document.trace.ops.count === 0) return textOnly([{ text: "This trace has no ops.", style: "faint" }]);
  const peakBytes = recordedPeak(scene);
  const plan = heldPlan(document.trace, own, peakBytes);
  const shown = plan === undefined ? bands(scene, own) : planBands(plan);
  const { from, to, op } = own;
  const plotWidth = Math.max(10, width - axisWidth);
  const heldHeight = Math.max(3, Math.min(14, Math.floor(height * 0.36)));
  const sample = sampleBands(shown, { from, to, buckets: plotWidth });
  const legendRows = Math.max(1, Math.min(mostLegendRows, height - heldHeight - 3 - leastPlotRows));
  const legend = legendOf(shown, sample, { width: width - 1, rows: legendRows, glyphs, theme });
  const plotHeight = Math.max(leastPlotRows, height - heldHeight - 3 - legend.length);
  const peak = plan?.peakOp ?? peakOp(document.timeline());
  const bucketOf = (at: number): number => Math.floor(((at - from) * sample.count) / Math.max(1, to - from));
  const plot = drawBands(shown, sample, {
    height: plotHeight,
    width: plotWidth,
    top: peakBytes,
    cursor: bucketOf(op),
    glyphs,
    theme,
  });
  const marks = new Array<string>(plotWidth).fill(" ");
  const stretch = plotWidth / Math.max(1, sample.count);
  if (peak >= from && peak < to) marks[Math.floor(bucketOf(peak) * stretch)] = glyphs.peak;
  const title: Line = [
    ...(document.isHeldKnown() ? [] : [{ text: "upper bound, frees unknown: ", style: "warning" as const }]),
    { text: "peak ", style: "faint" },
    { text: formatBytes(plan?.peakBytes ?? peakBytes), style: "bad" },
    { text: peak < 0 ? " before the first op" : ` at op ${peak}`, style: "faint" },
    { text: `   ops ${from} to ${to - 1} of ${shown.count}, by ${own.by}`, style: "faint" },
    ...(document.settings.worldSize > 1
      ? [{ text: `, one rank of ${document.settings.worldSize}`, style: "accent" as const }]
      : []),
    ...(plan === undefined ? [] : [{ text: ", under the plan", style: "accent" as const }]),
  ];
  const budgetRow =
    own.budgetBytes === undefined || peakBytes === 0
      ? -1
      : Math.min(plotHeight - 1, Math.max(0, Math.floor(plotHeight * (1 - own.budgetBytes / peakBytes))));
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
      ...(row === budgetRow ? withBudgetLine(line, glyphs) : line),
    ];
  });
  const budgetLines = budgetFactsOf(document, own, peakBytes, width);
  return stack(
    textOnly(fitLine(title, width, glyphs), [{ text: " ".repeat(axisWidth) }, { text: marks.join(""), style: "bad" }]),
    {
      lines: rows,
      regions: [{ x: axisWidth, y: 0, width: plotWidth, height: plotHeight, target: { kind: "plot", share: 0 } }],
    },
    textOnly(...legend.map((line) => fitLine([{ text: " " }, ...line], width, glyphs))),
    textOnly(
      ...budgetLines,
      ...(plan === undefined
        ? heldLines(document, op, { width, height: Math.max(1, heldHeight - budgetLines.length) }, glyphs)
        : planHeldLines(document, plan, op, { width, height: Math.max(1, heldHeight - budgetLines.length) }, glyphs)),
    ),
  );
}

function exportTable(scene: Scene, own: MemoryState): ViewTable {
  const { document } = scene;
  const { from, to } = own;
  const shown = bands(scene, own);
  const trace = document.memoryTrace();
  return {
    title: `Memory of ${document.name.title}, ${to > from ? `ops ${from} to ${to - 1}` : "no ops"}`,
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
