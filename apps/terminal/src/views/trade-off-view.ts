import { formatBytes, opFateNames, type PolicyView, type ViewTable } from "@remat/reporting";
import type { SACStats } from "@remat/sac-core";
import { budgetBytesOf, type ModulePolicies, policiesOf } from "../document/module-policies.js";
import { readShare } from "../document/read-share.js";
import type { ModuleTradeOff } from "../document/trace-document.js";
import { budgetFacts, fateSpans } from "../drawing/budget-facts.js";
import { drawCurve } from "../drawing/draw-curve.js";
import { type Area, isMatch, type Outcome, type Scene, type View, type ViewAction } from "../state/view.js";
import type { ViewAnswer } from "../state/work.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { type ListPlace, moveBy, settlePlace } from "../table/list-place.js";
import { windowRows } from "../table/window-rows.js";
import { besideEachOther } from "../text/beside.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";
import { note } from "../text/note.js";

/**
 * Modules of up to this many ops are planned as soon as the budget is unchanged for `restMs`. Larger ones on request.
 */
const unaskedOps = 20_000;
/** How long the budget must be unchanged before planning, so that holding a key down stays fast. */
const restMs = 120;

type ModuleAnswer = Extract<ViewAnswer, { readonly kind: "modulePlanned" | "moduleNotPlanned" }>;

/** The input of a search for an optimal policy. */
interface Wish {
  readonly stats: SACStats;
  readonly budgetBytes: number;
}

export interface TradeOffState extends ListPlace {
  /** Memory that may be stored, as a share of storing everything. */
  readonly budgetShare: number;
  /** True if the op list follows the optimal policy. */
  readonly isOptimal: boolean;
  /** The search in progress. */
  readonly wish: Wish | undefined;
  /** The last result. */
  readonly answer: ModuleAnswer | undefined;
}

export type TradeOffKey = "left" | "right" | "farLeft" | "farRight" | "optimum";

/** A module's trade-off between memory and time, and which of its ops are stored under a budget. */
export const tradeOffView: View<TradeOffState, TradeOffKey> = {
  name: "tradeOff",
  title: "Trade-off",
  shortTitle: "Trade",
  keys: [
    { keys: ["left", "h"], action: "left", help: "a smaller budget, by 1%", hint: "budget", hintKeys: "Left Right" },
    { keys: ["right", "l"], action: "right", help: "a larger budget, by 1%" },
    { keys: ["shift+left", "H", "<"], action: "farLeft", help: "a smaller budget, by 10%" },
    { keys: ["shift+right", "L", ">"], action: "farRight", help: "a larger budget, by 10%" },
    { keys: ["o"], action: "optimum", help: "switch between greedy and optimal policy", hint: "optimal" },
  ],
  initial: () => ({ cursor: 0, top: 0, budgetShare: 0.5, isOptimal: false, wish: undefined, answer: undefined }),
  reduce,
  settle(scene, own) {
    const found = shown(scene, own);
    if (found === undefined) return { own };
    const { stats } = found.of;
    return look(
      { stats, budgetBytes: found.budgetBytes },
      settlePlace(own, stats.ops.length, layoutOf(scene, own, found).room - 1),
    );
  },
  draw: drawTradeOff,
  search(scene, own) {
    const stats = shown(scene, own)?.of.stats;
    return (
      stats && {
        count: stats.funcNames.length,
        text: (index) => `${stats.ops[index]} ${stats.funcNames[index]}`,
        current: own.cursor,
      }
    );
  },
  table: exportTable,
  copied: (scene, own) => shown(scene, own)?.of.fqn,
  save: ({ budgetShare }) => ({ budgetShare }),
  restore: (_scene, own, saved) => ({
    ...own,
    budgetShare: readShare((saved as { readonly budgetShare?: unknown } | null)?.budgetShare, own.budgetShare),
  }),
};

function reduce(scene: Scene, own: TradeOffState, action: ViewAction<TradeOffKey>): Outcome<TradeOffState> {
  const rows = (): number => shown(scene, own)?.of.stats.ops.length ?? 0;
  switch (action.kind) {
    case "key":
      return { own: onKey(own, action.action) };
    case "move":
      return { own: moveBy(own, action.by, rows()) };
    case "wheel":
      return { own: moveBy(own, 3 * action.steps, rows()) };
    case "click":
      if (action.target.kind === "row") return { own: { ...own, cursor: action.target.index } };
      return { own: action.target.kind === "plot" ? withBudget(own, action.target.share) : own };
    case "back":
      return { own, requests: [{ kind: "leave" }] };
    case "choose":
      return { own: { ...own, cursor: action.index } };
    case "answer": {
      const { answer } = action;
      if (answer.kind !== "modulePlanned" && answer.kind !== "moduleNotPlanned") return { own };
      return { own: { ...own, answer, wish: isFor(own.wish, answer) ? undefined : own.wish } };
    }
    case "enter":
    case "typed":
    case "accepted":
    case "arrive":
      return { own };
  }
}

function onKey(own: TradeOffState, action: TradeOffKey): TradeOffState {
  switch (action) {
    case "left":
      return withBudget(own, own.budgetShare - 0.01);
    case "right":
      return withBudget(own, own.budgetShare + 0.01);
    case "farLeft":
      return withBudget(own, own.budgetShare - 0.1);
    case "farRight":
      return withBudget(own, own.budgetShare + 0.1);
    case "optimum":
      return { ...own, isOptimal: !own.isOptimal };
  }
}

function withBudget(own: TradeOffState, share: number): TradeOffState {
  return { ...own, budgetShare: Math.max(0, Math.min(1, Math.round(share * 1000) / 1000)) };
}

/**
 * Searches for the optimal policy under the budget. Does nothing if the policy is known, if a search is running, or if
 * the module is too large to search without a request.
 */
function look(wish: Wish, own: TradeOffState): Outcome<TradeOffState> {
  if (wish.stats.ops.length > unaskedOps && !own.isOptimal) return { own };
  if (isFor(own.wish, wish) || isFor(own.answer, wish)) return { own };
  return {
    own: { ...own, wish },
    requests: [{ kind: "work", work: { kind: "planModule", ...wish, restMs } }],
  };
}

function isFor(wish: Wish | undefined, { stats, budgetBytes }: Wish): boolean {
  return wish?.stats === stats && wish.budgetBytes === budgetBytes;
}

/** The policies that are shown, and the one that the op list follows. */
interface Shown extends ModulePolicies {
  readonly policy: PolicyView;
}

function shown({ document, module }: Scene, { budgetShare, isOptimal, answer }: TradeOffState): Shown | undefined {
  const of = document.tradeOff(module ?? "");
  if (of === undefined) return undefined;
  const budgetBytes = budgetBytesOf(of, budgetShare);
  const found =
    answer?.kind === "modulePlanned" && isFor(answer, { stats: of.stats, budgetBytes }) ? answer.policy : undefined;
  const policies = policiesOf(of, budgetBytes, found);
  const { greedy, optimal } = policies;
  return { ...policies, policy: isOptimal && optimal ? optimal.policy : greedy };
}

/** The layout of the view: width and height of the curve, and the lines of the op list. */
function layoutOf(
  scene: Scene,
  own: TradeOffState,
  found: Shown,
): { facts: readonly Line[]; factsWidth: number; plot: Area; room: number } {
  const { width, height } = scene.area;
  const plotHeight = Math.max(6, Math.min(Math.floor((height - 2) * 0.6), 24));
  const factsWidth = width >= 96 ? 40 : 0;
  const facts = budgetFacts(
    { ...found, ...own, waiting: describeSearch(own, found.of), formatTime: scene.document.formatTime },
    factsWidth > 0,
    scene.look.glyphs,
  );
  const plot = { width: width - (factsWidth > 0 ? factsWidth + 2 : 0), height: plotHeight };
  const taken = factsWidth > 0 ? Math.max(plotHeight, facts.length) : plotHeight + Math.min(3, facts.length);
  return { facts, factsWidth, plot, room: height - 2 - taken };
}

function drawTradeOff(scene: Scene, own: TradeOffState): Drawn {
  const found = shown(scene, own);
  if (found === undefined)
    return note(
      scene.document.isPrediction
        ? "Inference saves nothing for a backward pass, so there is no trade-off. See the Memory view."
        : "This trace has no nested modules, so there is no trade-off to show.",
      scene.area.width,
    );
  const { width } = scene.area;
  const { glyphs } = scene.look;
  const title: Line = [
    { text: found.of.fqn, style: "strong" },
    {
      text: `  ${formatBytes(found.view.memoryBytes)} can be freed, forward ${scene.document.formatTime(found.view.runtimeMs)}`,
      style: "faint",
    },
  ];
  const { facts, factsWidth, plot: area, room } = layoutOf(scene, own, found);
  const { view, greedy, optimal } = found;
  const { budgetShare } = own;
  const plot = drawCurve({ view, budgetShare, greedy, optimal: optimal?.policy, glyphs }, area);
  const top =
    factsWidth > 0
      ? besideEachOther(plot, textOnly(...facts), { width: area.width, gap: 2 }, glyphs)
      : stack(plot, textOnly(...facts.slice(0, 3)));
  const list = room >= 2 ? drawOps(scene, own, found, room) : textOnly();
  return stack(textOnly(fitLine(title, width, glyphs)), top, list);
}

/** Why there is no optimal policy. */
function describeSearch({ wish, answer }: TradeOffState, { stats }: ModuleTradeOff): string {
  if (answer?.kind === "moduleNotPlanned" && answer.stats === stats) return answer.reason;
  return stats.ops.length > unaskedOps && wish === undefined
    ? "optimal policy: press o"
    : "optimal policy: looking for it";
}

function drawOps(scene: Scene, { cursor, top }: TradeOffState, { of, policy }: Shown, height: number): Drawn {
  const { document, look, area } = scene;
  const { stats } = of;
  const count = stats.ops.length;
  const columns: readonly TableColumn<number>[] = [
    { key: "op", title: "Op", width: 7, align: "right", cell: (op) => String(stats.ops[op]) },
    {
      key: "fate",
      title: "Plan",
      width: 16,
      cell: (op) => [fateSpans[policy.fate[op]]],
    },
    { key: "name", title: "Name", width: 16, grow: 1, cell: (op) => stats.funcNames[op] },
    { key: "memory", title: "Memory", width: 10, align: "right", cell: (op) => formatBytes(stats.memoryBytes[op]) },
    { key: "time", title: "Time", width: 9, align: "right", cell: (op) => document.formatTime(stats.runtimesMs[op]) },
    {
      key: "module",
      title: "Module",
      width: 20,
      grow: 1,
      cut: "start",
      priority: 1,
      cell: (op) => document.trace.opModule(stats.ops[op])?.fqn ?? "",
    },
  ];
  return drawTable({
    columns,
    width: area.width,
    glyphs: look.glyphs,
    count,
    window: windowRows({ count, height, cursor, top }),
    row: (index) => index,
    isMatch: (index) => isMatch(scene, stats.funcNames[index]),
  });
}

function exportTable(scene: Scene, own: TradeOffState): ViewTable {
  const columns = ["op", "name", "module", "fate", "memoryBytes", "runtimeMs"];
  const found = shown(scene, own);
  if (found === undefined) return { title: "Trade-off", columns, rows: [] };
  const { stats, fqn } = found.of;
  return {
    title: `Plan of ${fqn} for ${formatBytes(found.budgetBytes)}`,
    columns,
    rows: Array.from(stats.ops, (op, row) => [
      op,
      stats.funcNames[row],
      scene.document.trace.opModule(op)?.fqn,
      opFateNames[found.policy.fate[row]],
      stats.memoryBytes[row],
      stats.runtimesMs[row],
    ]),
  };
}
