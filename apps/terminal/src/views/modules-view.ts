import {
  expandedToDepth,
  formatBytes,
  formatPercent,
  type ModuleNode,
  type ModuleTreeColumn,
  type ModuleTreeView,
  moduleTreeRows,
  moduleTreeTable,
} from "@remat/reporting";
import type { App } from "../app/app.js";
import type { Area, View } from "../app/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { nextSort, sortByNext } from "../table/next-sort.js";
import { windowRows } from "../table/window-rows.js";
import type { Drawn } from "../text/drawn.js";
import { cutText, fitText } from "../text/fit-text.js";
import { formatTime } from "../text/format-time.js";
import { barText, type Glyphs } from "../text/glyphs.js";
import { showControls } from "../text/show-controls.js";

const columns = ["name", "memoryBytes", "runtimeMs", "savedBytes", "forwardMs", "backwardMs", "calls"] as const;

/** The modules as a tree, with what each could discard and how long it takes. */
export const modulesView: View = {
  name: "modules",
  title: "Modules",
  draw: drawModules,
  move(app, by) {
    const { rows, at } = visible(app);
    if (rows.length > 0) app.state.modules.node = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  },
  click(app, target) {
    const { modules } = app.state;
    if (target.kind === "row") {
      const { rows } = visible(app);
      if (rows[target.index] === modules.node) modulesView.actions.enter?.(app);
      else modules.node = rows[target.index];
    } else if (target.kind === "header")
      modules.sort = nextSort(modules.sort, target.column as ModuleTreeColumn, "name");
  },
  actions: {
    right(app) {
      const node = selected(app);
      if (node === undefined) return;
      if (node.children.length > 0 && !app.state.modules.expanded.has(node.index)) expand(app, [node.index]);
      else if (node.children.length > 0) modulesView.move?.(app, 1);
    },
    left(app) {
      const node = selected(app);
      const { modules } = app.state;
      if (node === undefined) return;
      if (modules.expanded.has(node.index)) {
        const rest = new Set(modules.expanded);
        rest.delete(node.index);
        modules.expanded = rest;
      } else if (node.parent >= 0) modules.node = node.parent;
    },
    expandAll(app) {
      app.state.modules.expanded = expandedToDepth(tree(app), Number.POSITIVE_INFINITY);
    },
    collapseAll: (app) => showDepth(app, 0),
    deeper: (app) => showDepth(app, shownDepth(app) + 1),
    shallower: (app) => showDepth(app, Math.max(0, shownDepth(app) - 1)),
    sortNext: (app) => sortBy(app, 1),
    sortPrevious: (app) => sortBy(app, -1),
    reverse(app) {
      const { modules } = app.state;
      if (modules.sort !== undefined) modules.sort = { ...modules.sort, descending: !modules.sort.descending };
    },
    enter(app) {
      app.state.ops = { ...app.state.ops, isWholeStep: false, cursor: 0, top: 0, filter: "", isDetailed: false };
      app.state.view = "ops";
    },
  },
  search: (app) => {
    const { nodes } = tree(app);
    return {
      count: nodes.length,
      text: (index) => nodes[index].fqn,
      current: app.state.modules.node,
      show(index) {
        const around: number[] = [];
        for (let at = nodes[index].parent; at >= 0; at = nodes[at].parent) around.push(at);
        expand(app, around);
        app.state.modules.node = index;
      },
    };
  },
  table: (app) => moduleTreeTable(tree(app), visible(app).rows),
  copied: (app) => selected(app)?.fqn,
};

function drawModules(app: App, { width, height }: Area): Drawn {
  const { modules } = app.state;
  const view = tree(app);
  const { rows, at } = visible(app);
  if (rows.length === 0)
    return {
      lines: [[{ text: "This trace tells of no modules. Its ops are in view 2.", style: "faint" }]],
      regions: [],
    };
  const window = windowRows({ count: rows.length, height: height - 1, cursor: at, top: modules.top });
  modules.top = window.top;
  return drawTable<ModuleNode>({
    columns: tableColumns(view, modules.expanded, app.glyphs),
    width,
    glyphs: app.glyphs,
    count: rows.length,
    window,
    row: (index) => view.nodes[rows[index]],
    sort: modules.sort,
    isMatch: (index) => app.isMatch(view.nodes[rows[index]].fqn),
  });
}

function tableColumns(
  { totals }: ModuleTreeView,
  expanded: ReadonlySet<number>,
  glyphs: Glyphs,
): readonly TableColumn<ModuleNode>[] {
  const right = "right" as const;
  const share = (bytes: number): number => (totals.memoryBytes > 0 ? bytes / totals.memoryBytes : 0);
  return [
    {
      key: "name",
      title: "Module",
      width: 24,
      grow: 3,
      cell: ({ name, kind, depth, index, children }, wide) => {
        const mark = children.length === 0 ? glyphs.leaf : expanded.has(index) ? glyphs.expanded : glyphs.collapsed;
        const indent = "  ".repeat(Math.min(depth, Math.max(0, Math.floor(wide / 4))));
        const text = `${indent}${mark} ${showControls(name, glyphs.isAscii)} `;
        return [{ text: cutText(text, wide, glyphs) }, { text: kind, style: "faint" }];
      },
    },
    { key: "memoryBytes", title: "Memory", width: 10, align: right, cell: (node) => formatBytes(node.memoryBytes) },
    {
      key: "share",
      title: "Share of memory",
      width: 16,
      grow: 1,
      priority: 3,
      cell: (node, wide) => [
        { text: barText(share(node.memoryBytes), Math.max(1, wide - 8), glyphs), style: "bar" },
        { text: fitText(formatPercent(share(node.memoryBytes)), 8, glyphs, { align: "right" }), style: "faint" },
      ],
    },
    { key: "runtimeMs", title: "Runtime", width: 9, align: right, cell: (node) => formatTime(node.runtimeMs) },
    {
      key: "savedBytes",
      title: "Saved",
      width: 10,
      align: right,
      priority: 5,
      cell: (node) => formatBytes(node.savedBytes),
    },
    {
      key: "forwardMs",
      title: "Forward",
      width: 9,
      align: right,
      priority: 4,
      cell: (node) => formatTime(node.forwardMs),
    },
    {
      key: "backwardMs",
      title: "Backward",
      width: 9,
      align: right,
      priority: 4,
      cell: (node) => formatTime(node.backwardMs),
    },
    { key: "calls", title: "Calls", width: 6, align: right, priority: 1, cell: (node) => String(node.calls) },
  ];
}

function tree(app: App): ModuleTreeView {
  return app.document.tree();
}

function selected(app: App): ModuleNode | undefined {
  return tree(app).nodes[app.state.modules.node];
}

/** The rows on show, and where the cursor is among them: on the nearest module around it that is shown. */
function visible(app: App): { readonly rows: Int32Array; readonly at: number } {
  const { modules } = app.state;
  const view = tree(app);
  const rows = app.remember("modules", [view, modules.expanded, modules.sort], () =>
    moduleTreeRows(view, { expanded: modules.expanded, sort: modules.sort }),
  );
  let at = rows.indexOf(modules.node);
  for (let node = modules.node; at < 0 && node >= 0; node = view.nodes[node]?.parent ?? -1) at = rows.indexOf(node);
  if (rows.length > 0) modules.node = rows[Math.max(0, at)];
  return { rows, at: Math.max(0, at) };
}

function expand(app: App, nodes: readonly number[]): void {
  app.state.modules.expanded = new Set([...app.state.modules.expanded, ...nodes]);
}

function showDepth(app: App, depth: number): void {
  app.state.modules.expanded = expandedToDepth(tree(app), depth);
  app.tell(`modules of ${depth + 1} ${depth === 0 ? "level" : "levels"}`);
}

/** The depth down to which everything is expanded. */
function shownDepth(app: App): number {
  const { nodes } = tree(app);
  const { expanded } = app.state.modules;
  let least = nodes.reduce((max, node) => Math.max(max, node.depth), 0);
  for (const { index, depth, children } of nodes)
    if (children.length > 0 && !expanded.has(index)) least = Math.min(least, depth);
  return least;
}

function sortBy(app: App, step: 1 | -1): void {
  app.state.modules.sort = sortByNext<ModuleTreeColumn>(app.state.modules.sort, columns, step, "name");
}
