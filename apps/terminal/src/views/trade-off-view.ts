import type { ModulePolicy } from "@remat/planner";
import {
  type BudgetPolicy,
  formatBytes,
  formatPercent,
  greedyPolicy,
  OpFate,
  opFateNames,
  policyOf,
  type TradeOffView,
  type ViewTable,
  viewTradeOff,
} from "@remat/reporting";
import type { App } from "../app/app.js";
import type { Area, View } from "../app/view.js";
import type { ModuleTradeOff } from "../document/trace-document.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { windowRows } from "../table/window-rows.js";
import { besideEachOther } from "../text/beside.js";
import { DotCanvas } from "../text/dot-canvas.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import { formatTime } from "../text/format-time.js";
import { fitLine, type Line, type Span } from "../text/line.js";

const fateStyles: readonly Span["style"][] = ["good", "warning", "accent", "faint"];
const fateTexts = ["stored", "recomputed", "always stored", "view, recomputed"] as const;
const axisWidth = 8;

/** A module's trade-off between memory and time, and which of its ops a budget stores. */
export const tradeOffView: View = {
  name: "tradeOff",
  title: "Trade-off",
  draw: drawTradeOff,
  move(app, by) {
    const { tradeOff } = app.state;
    tradeOff.cursor = Math.max(0, tradeOff.cursor + by);
  },
  click(app, target) {
    if (target.kind === "row") app.state.tradeOff.cursor = target.index;
    else if (target.kind === "plot") setBudget(app, 1 - target.share);
  },
  actions: {
    left: (app) => setBudget(app, app.state.tradeOff.budgetShare - 0.01),
    right: (app) => setBudget(app, app.state.tradeOff.budgetShare + 0.01),
    farLeft: (app) => setBudget(app, app.state.tradeOff.budgetShare - 0.1),
    farRight: (app) => setBudget(app, app.state.tradeOff.budgetShare + 0.1),
    optimum(app) {
      app.state.tradeOff.isOptimal = !app.state.tradeOff.isOptimal;
      const found = shown(app);
      if (found !== undefined) app.optimum.want(found.of, budgetBytes(app, found.of), true);
    },
    back: (app) => {
      app.state.view = "modules";
    },
  },
  search: (app) => {
    const found = shown(app);
    if (found === undefined) return undefined;
    const { stats } = found.of;
    return {
      count: stats.funcNames.length,
      text: (index) => `${stats.ops[index]} ${stats.funcNames[index]}`,
      current: app.state.tradeOff.cursor,
      show: (index) => {
        app.state.tradeOff.cursor = index;
      },
    };
  },
  table: exportTable,
  copied: (app) => shown(app)?.of.fqn,
};

/** What is drawn: the module, its curve, and the policies under the budget. */
interface Shown {
  readonly of: ModuleTradeOff;
  readonly view: TradeOffView;
  readonly greedy: BudgetPolicy;
  /** The optimal policy, once it has been found. */
  readonly optimal: { readonly policy: BudgetPolicy; readonly found: ModulePolicy } | undefined;
  /** The one that the op list follows. */
  readonly policy: BudgetPolicy;
}

function shown(app: App): Shown | undefined {
  const of = app.document.tradeOff(app.selectedModule ?? "");
  if (of === undefined) return undefined;
  const bytes = budgetBytes(app, of);
  const view = app.remember("tradeOff.view", [of], () => viewTradeOff(of.tradeOff, 1000));
  const greedy = app.remember("tradeOff.greedy", [of, bytes], () => greedyPolicy(of.stats, of.order, bytes));
  const found = app.optimum.of(of, bytes);
  const optimal =
    found === undefined
      ? undefined
      : app.remember("tradeOff.optimal", [of, found], () => ({
          policy: policyOf(of.stats, of.order, bytes, found.isStored),
          found,
        }));
  return { of, view, greedy, optimal, policy: app.state.tradeOff.isOptimal && optimal ? optimal.policy : greedy };
}

function drawTradeOff(app: App, { width, height }: Area): Drawn {
  const found = shown(app);
  if (found === undefined)
    return textOnly([
      { text: "No module of this trace has modules in it, so there is nothing to trade off.", style: "faint" },
    ]);
  app.optimum.want(found.of, budgetBytes(app, found.of), app.state.tradeOff.isOptimal);
  const { glyphs } = app;
  const title: Line = [
    { text: found.of.fqn, style: "strong" },
    {
      text: `  ${formatBytes(found.view.memoryBytes)} could be discarded, forward ${formatTime(found.view.runtimeMs)}`,
      style: "faint",
    },
  ];
  const plotHeight = Math.max(6, Math.min(Math.floor((height - 2) * 0.6), 24));
  const factsWidth = width >= 96 ? 40 : 0;
  const plot = drawPlot(app, found, { width: width - (factsWidth > 0 ? factsWidth + 2 : 0), height: plotHeight });
  const facts = budgetFacts(app, found, factsWidth > 0);
  const top =
    factsWidth > 0
      ? besideEachOther(plot, textOnly(...facts), { width: width - factsWidth - 2, gap: 2 }, glyphs)
      : stack(plot, textOnly(...facts.slice(0, 3)));
  const room = height - 1 - top.lines.length - 1;
  const list = room >= 2 ? drawOps(app, found, width, room) : textOnly();
  return stack(textOnly(fitLine(title, width, glyphs)), top, list);
}

function drawPlot(app: App, { view, greedy, optimal }: Shown, { width, height }: Area): Drawn {
  const { glyphs } = app;
  const plotWidth = Math.max(10, width - axisWidth);
  const canvas = new DotCanvas(plotWidth, height - 2, glyphs);
  const top = Math.max(0.01, ...view.points.map(([, y]) => y));
  const at = (y: number): number => Math.max(0, Math.min(1, y / top));
  for (const { from, to } of view.pieces) canvas.line(from[0], at(from[1]), to[0], at(to[1]), "faint");
  for (let i = 1; i < view.points.length; i++) {
    const [[x0, y0], [x1, y1]] = [view.points[i - 1], view.points[i]];
    // Giving up the next op costs its whole time at once.
    canvas.line(x0, at(y0), x0, at(y1), "accent");
    canvas.line(x0, at(y1), x1, at(y1), "accent");
  }
  const budgetAt = 1 - app.state.tradeOff.budgetShare;
  canvas.line(budgetAt, 0, budgetAt, 1, "warning");
  const mark = (policy: BudgetPolicy, text: string, style: Span["style"]): void => {
    if (view.memoryBytes > 0 && view.runtimeMs > 0)
      canvas.mark(1 - policy.storedBytes / view.memoryBytes, at(policy.recomputationMs / view.runtimeMs), text, style);
  };
  mark(greedy, glyphs.point, "strong");
  if (optimal !== undefined) mark(optimal.policy, glyphs.optimum, "good");
  const lines = canvas.lines().map((line, row, all): Line => {
    const label = row === 0 ? formatPercent(top) : row === all.length - 1 ? "0 %" : "";
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
  const long = "memory discarded (across), recomputation as a share of forward (up)";
  const caption = plotWidth >= long.length + 10 ? long : "memory discarded, recomputation";
  const labels: Line = [
    { text: " ".repeat(axisWidth) },
    { text: "0 %", style: "faint" },
    { text: fitText(caption, plotWidth - 8, glyphs).replace(/^(.*?)( *)$/, centred), style: "faint" },
    { text: "100 %", style: "faint" },
  ];
  return {
    lines: [...lines, axis, labels],
    regions: [{ x: axisWidth, y: 0, width: plotWidth, height: height - 2, target: { kind: "plot", share: 0 } }],
  };
}

function centred(_all: string, text: string, spaces: string): string {
  const left = Math.floor(spaces.length / 2);
  return " ".repeat(left) + text + " ".repeat(spaces.length - left);
}

/** What the budget buys; on few lines where there is no room beside the curve. */
function budgetFacts(app: App, found: Shown, isWide: boolean): readonly Line[] {
  const { of, view, greedy, optimal, policy } = found;
  const { glyphs } = app;
  const { budgetShare, isOptimal } = app.state.tradeOff;
  const share = (ms: number): string => formatPercent(view.runtimeMs > 0 ? ms / view.runtimeMs : 0);
  const one = (mark: string, style: Span["style"], name: string, bought: BudgetPolicy): readonly Line[] => {
    const head: readonly Span[] = [
      { text: `${mark} `, style },
      { text: `${name} `, style: "strong" },
    ];
    const stores = `stores ${formatBytes(bought.storedBytes)}`;
    const recomputes = `recomputes ${formatTime(bought.recomputationMs)} (${share(bought.recomputationMs)})`;
    return isWide
      ? [[...head, { text: stores }], [{ text: `  ${recomputes}` }]]
      : [[...head, { text: `${stores}, ${recomputes}` }]];
  };
  const best: readonly Line[] =
    optimal === undefined
      ? [[{ text: `${glyphs.optimum} ${app.optimum.describe(of)}`, style: "faint" }]]
      : one(glyphs.optimum, "good", "optimal", optimal.policy);
  const gap = optimal?.found.gap ?? 0;
  const budget: readonly Span[] = [
    { text: "budget ", style: "faint" },
    { text: `${formatBytes(budgetBytes(app, of))} `, style: "warning" },
    { text: `${formatPercent(budgetShare)} of all`, style: "faint" },
  ];
  return [
    budget,
    ...one(glyphs.point, "strong", "greedy", greedy),
    ...best,
    ...(gap > 5e-4 ? [[{ text: `  proven to ${formatPercent(gap)}`, style: "faint" as const }]] : []),
    ...(policy.fits ? [] : [[{ text: "  more than that has to be stored", style: "bad" as const }]]),
    [],
    [{ text: `ops of the ${isOptimal && optimal ? "optimal" : "greedy"} policy`, style: "faint" }],
    ...opFateNames.flatMap((name): Line[] => {
      const { ops, bytes, ms } = policy.totals[OpFate[name]];
      if (ops === 0) return [];
      return [
        [
          { text: `${String(ops).padStart(5)} ${fateTexts[OpFate[name]]} `, style: fateStyles[OpFate[name]] },
          { text: bytes > 0 ? `${formatBytes(bytes)}, ${formatTime(ms)}` : formatTime(ms), style: "faint" },
        ],
      ];
    }),
  ];
}

function drawOps(app: App, { of, policy }: Shown, width: number, height: number): Drawn {
  const { tradeOff } = app.state;
  const { stats } = of;
  const window = windowRows({ count: stats.ops.length, height, cursor: tradeOff.cursor, top: tradeOff.top });
  tradeOff.cursor = Math.max(0, window.cursor);
  tradeOff.top = window.top;
  const columns: readonly TableColumn<number>[] = [
    { key: "op", title: "Op", width: 7, align: "right", cell: (op) => String(stats.ops[op]) },
    {
      key: "fate",
      title: "Plan",
      width: 16,
      cell: (op) => [{ text: fateTexts[policy.fate[op]], style: fateStyles[policy.fate[op]] }],
    },
    { key: "name", title: "Name", width: 16, grow: 1, cell: (op) => stats.funcNames[op] },
    { key: "memory", title: "Memory", width: 10, align: "right", cell: (op) => formatBytes(stats.memoryBytes[op]) },
    { key: "time", title: "Time", width: 9, align: "right", cell: (op) => formatTime(stats.runtimesMs[op]) },
    {
      key: "module",
      title: "Module",
      width: 20,
      grow: 1,
      cut: "start",
      priority: 1,
      cell: (op) => app.document.trace.opModule(stats.ops[op])?.fqn ?? "",
    },
  ];
  return drawTable({
    columns,
    width,
    glyphs: app.glyphs,
    count: stats.ops.length,
    window,
    row: (index) => index,
    isMatch: (index) => app.isMatch(stats.funcNames[index]),
  });
}

function exportTable(app: App): ViewTable {
  const found = shown(app);
  const rows = found === undefined ? [] : Array.from(found.of.stats.ops.keys());
  return {
    title: found === undefined ? "Trade-off" : `Plan of ${found.of.fqn} for ${budgetBytes(app, found.of)} bytes`,
    columns: ["op", "name", "module", "fate", "memoryBytes", "runtimeMs"],
    rows: rows.map((row) => {
      const { stats } = found!.of;
      return [
        stats.ops[row],
        stats.funcNames[row],
        app.document.trace.opModule(stats.ops[row])?.fqn,
        opFateNames[found!.policy.fate[row]],
        stats.memoryBytes[row],
        stats.runtimesMs[row],
      ];
    }),
  };
}

function budgetBytes(app: App, { tradeOff }: ModuleTradeOff): number {
  return Math.ceil(app.state.tradeOff.budgetShare * tradeOff.sacMemoryBytes);
}

function setBudget(app: App, share: number): void {
  app.state.tradeOff.budgetShare = Math.max(0, Math.min(1, Math.round(share * 1000) / 1000));
}
