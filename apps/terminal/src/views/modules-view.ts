import {
  expandedToDepth,
  type ModuleNode,
  type ModuleTreeColumn,
  type ModuleTreeView,
  moduleTreeRows,
  moduleTreeTable,
} from "@remat/reporting";
import { findModule } from "../document/find-module.js";
import { rememberLast } from "../document/memoize.js";
import { moduleColumns } from "../drawing/module-columns.js";
import { isMatch, type Outcome, type Scene, type View, type ViewAction } from "../state/view.js";
import { drawTable, shownColumns } from "../table/draw-table.js";
import { settlePlace } from "../table/list-place.js";
import { restoreSort, type Sort, sortByHeader, sortByNext } from "../table/sort.js";
import { windowRows } from "../table/window-rows.js";
import type { Drawn } from "../text/drawn.js";
import { note } from "../text/note.js";

const columns = ["name", "memoryBytes", "runtimeMs", "savedBytes", "forwardMs", "backwardMs", "calls"] as const;
/** Larger trees are first shown with their outermost modules only. */
const largeTree = 500;

/** State of {@link modulesView}. */
export interface ModulesState {
  /** Indices of the modules whose children are shown. */
  readonly expanded: ReadonlySet<number>;
  readonly sort: Sort<ModuleTreeColumn> | undefined;
  readonly top: number;
  /** The selected module when this view last saw it. If another one was selected elsewhere, it has to be revealed. */
  readonly revealed: string | undefined;
}

export type ModulesKey =
  | "right"
  | "left"
  | "expandAll"
  | "collapseAll"
  | "deeper"
  | "shallower"
  | "sortNext"
  | "sortPrevious"
  | "reverse";

/** The modules as a tree, with the memory that each could free and its time. */
export const modulesView: View<ModulesState, ModulesKey> = {
  name: "modules",
  title: "Modules",
  shortTitle: "Mods",
  keys: [
    { keys: ["right", "l"], action: "right", help: "expand the module" },
    { keys: ["left", "h"], action: "left", help: "collapse it, or go to its parent" },
    { keys: ["*"], action: "expandAll", help: "expand all" },
    { keys: ["-"], action: "collapseAll", help: "collapse all" },
    { keys: ["]"], action: "deeper", help: "show one more level", hint: "levels", hintKeys: "[ ]" },
    { keys: ["["], action: "shallower", help: "show one level less" },
    { keys: ["s"], action: "sortNext", help: "sort by the next column", hint: "sort" },
    { keys: ["S"], action: "sortPrevious", help: "sort by the previous column" },
    { keys: ["r"], action: "reverse", help: "reverse the order" },
  ],
  initial({ document }) {
    const { nodes } = document.tree();
    const depth = nodes.length > largeTree ? 1 : 2;
    const expanded = nodes.filter((node) => node.depth < depth && node.children.length > 0).map(({ index }) => index);
    return { expanded: new Set(expanded), sort: undefined, top: 0, revealed: undefined };
  },
  reduce,
  settle(scene, own) {
    const { nodes } = scene.document.tree();
    const chosen = findModule(scene.document.tree(), scene.module);
    const revealing =
      chosen === undefined || own.revealed === chosen.fqn
        ? own
        : { ...own, revealed: chosen.fqn, expanded: new Set([...own.expanded, ...around(nodes, chosen)]) };
    const { rows, at } = visible(scene, revealing);
    const { top } = settlePlace({ cursor: at, top: own.top }, rows.length, scene.area.height - 1);
    const settled = revealing.top === top ? revealing : { ...revealing, top };
    const shown = nodes[rows[at]];
    return shown === undefined || shown === chosen ? { own: settled } : choose(settled, shown);
  },
  draw: drawModules,
  search({ document, module }) {
    const { nodes } = document.tree();
    return {
      count: nodes.length,
      text: (index) => nodes[index].fqn,
      current: findModule(document.tree(), module)?.index ?? -1,
    };
  },
  table: (scene, own) => moduleTreeTable(scene.document.tree(), visible(scene, own).rows),
  copied: ({ module }) => module,
  save: ({ sort }) => ({ sort }),
  restore: (_scene, own, saved) => ({
    ...own,
    sort: restoreSort(columns, (saved as { readonly sort?: unknown } | null)?.sort),
  }),
};

function reduce(scene: Scene, own: ModulesState, action: ViewAction<ModulesKey>): Outcome<ModulesState> {
  switch (action.kind) {
    case "key":
      return onKey(scene, own, action.action);
    case "move":
      return move(scene, own, action.by);
    case "wheel":
      return move(scene, own, 3 * action.steps);
    case "click": {
      const { target } = action;
      if (target.kind === "header")
        return { own: { ...own, sort: sortByHeader<ModuleTreeColumn>(own.sort, columns, target.column, "name") } };
      if (target.kind !== "row") return { own };
      const { rows, at } = visible(scene, own);
      return target.index === at ? drillIn(scene, own) : choose(own, scene.document.tree().nodes[rows[target.index]]);
    }
    case "enter":
      return drillIn(scene, own);
    case "back":
      return { own, requests: [{ kind: "leave" }] };
    case "choose":
      // A module that is selected elsewhere or found by a search is revealed.
      return { own: { ...own, revealed: undefined }, requests: [select(scene.document.tree().nodes[action.index])] };
    case "typed":
    case "arrive":
    case "answer":
    case "accepted":
      return { own };
  }
}

function onKey(scene: Scene, own: ModulesState, action: ModulesKey): Outcome<ModulesState> {
  const tree = scene.document.tree();
  const node = findModule(tree, scene.module);
  switch (action) {
    case "right":
      if (node === undefined || node.children.length === 0) return { own };
      if (own.expanded.has(node.index)) return move(scene, own, 1);
      return { own: { ...own, expanded: new Set([...own.expanded, node.index]) } };
    case "left":
      if (node === undefined) return { own };
      if (own.expanded.has(node.index))
        return { own: { ...own, expanded: new Set([...own.expanded].filter((index) => index !== node.index)) } };
      return node.parent < 0 ? { own } : choose(own, tree.nodes[node.parent]);
    case "expandAll":
      return { own: { ...own, expanded: expandedToDepth(tree, Number.POSITIVE_INFINITY) } };
    case "collapseAll":
      return showDepth(scene, own, 0);
    case "deeper":
      return showDepth(scene, own, shownDepth(scene, own) + 1);
    case "shallower":
      return showDepth(scene, own, Math.max(0, shownDepth(scene, own) - 1));
    case "sortNext":
      return { own: { ...own, sort: sortByNext<ModuleTreeColumn>(own.sort, shownOf(scene, own), 1, "name") } };
    case "sortPrevious":
      return { own: { ...own, sort: sortByNext<ModuleTreeColumn>(own.sort, shownOf(scene, own), -1, "name") } };
    case "reverse":
      return {
        own: own.sort === undefined ? own : { ...own, sort: { ...own.sort, descending: !own.sort.descending } },
      };
  }
}

/** Only visible columns can be sorted by. */
function shownOf({ document, area, look }: Scene, { expanded }: ModulesState): readonly ModuleTreeColumn[] {
  const shown = shownColumns(moduleColumns(document.tree(), expanded, document.formatTime, look.glyphs), area.width);
  return columns.filter((column) => shown.has(column));
}

function move(scene: Scene, own: ModulesState, by: number): Outcome<ModulesState> {
  const { rows, at } = visible(scene, own);
  if (rows.length === 0) return { own };
  return choose(own, scene.document.tree().nodes[rows[Math.max(0, Math.min(rows.length - 1, at + by))]]);
}

function choose(own: ModulesState, node: ModuleNode | undefined): Outcome<ModulesState> {
  return node === undefined ? { own } : { own: { ...own, revealed: node.fqn }, requests: [select(node)] };
}

function select({ fqn }: ModuleNode): { readonly kind: "select"; readonly module: string } {
  return { kind: "select", module: fqn };
}

function drillIn({ module }: Scene, own: ModulesState): Outcome<ModulesState> {
  return { own, requests: [{ kind: "drillInto", view: "ops", module }] };
}

function drawModules(scene: Scene, own: ModulesState): Drawn {
  const { width, height } = scene.area;
  const { glyphs } = scene.look;
  const view = scene.document.tree();
  const { rows, at } = visible(scene, own);
  if (rows.length === 0) return note("This trace has no modules. Its ops are in view 3.", width);
  const window = windowRows({ count: rows.length, height: height - 1, cursor: at, top: own.top });
  return drawTable<ModuleNode>({
    columns: moduleColumns(view, own.expanded, scene.document.formatTime, glyphs),
    width,
    glyphs,
    count: rows.length,
    window,
    row: (index) => view.nodes[rows[index]],
    sort: own.sort,
    isMatch: (index) => isMatch(scene, view.nodes[rows[index]].fqn),
  });
}

const rowsOf = rememberLast(
  (tree: ModuleTreeView, expanded: ReadonlySet<number>, sort: Sort<ModuleTreeColumn> | undefined) =>
    moduleTreeRows(tree, { expanded, sort }),
);

/** The visible rows, and the cursor among them: on the nearest visible module around the selected one. */
function visible({ document, module }: Scene, { expanded, sort }: ModulesState): { rows: Int32Array; at: number } {
  const tree = document.tree();
  const rows = rowsOf(tree, expanded, sort);
  for (let node = findModule(tree, module)?.index ?? -1; node >= 0; node = tree.nodes[node].parent) {
    const at = rows.indexOf(node);
    if (at >= 0) return { rows, at };
  }
  return { rows, at: 0 };
}

function around(nodes: readonly ModuleNode[], { parent }: ModuleNode): readonly number[] {
  const found: number[] = [];
  for (let at = parent; at >= 0; at = nodes[at].parent) found.push(at);
  return found;
}

function showDepth({ document }: Scene, own: ModulesState, depth: number): Outcome<ModulesState> {
  return {
    own: { ...own, expanded: expandedToDepth(document.tree(), depth) },
    requests: [{ kind: "tell", text: `showing ${depth + 1} ${depth === 0 ? "level" : "levels"} of modules` }],
  };
}

/** The depth down to which everything is expanded. */
function shownDepth({ document }: Scene, { expanded }: ModulesState): number {
  const { nodes } = document.tree();
  let least = nodes.reduce((max, node) => Math.max(max, node.depth), 0);
  for (const { index, depth, children } of nodes)
    if (children.length > 0 && !expanded.has(index)) least = Math.min(least, depth);
  return least;
}
