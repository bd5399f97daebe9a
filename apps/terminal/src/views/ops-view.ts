import {
  formatBytes,
  moduleOf,
  OpMark,
  type OpTableColumn,
  type OpTableView,
  opTable,
  opTableRows,
} from "@remat/reporting";
import { phaseNames, type Trace } from "@remat/trace";
import type { App } from "../app/app.js";
import type { Area, View } from "../app/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { nextSort, sortByNext } from "../table/next-sort.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { formatTime } from "../text/format-time.js";
import { fitLine, type Line, type Span } from "../text/line.js";

const columns = ["op", "name", "runtimeMs", "memoryBytes", "msps", "marks", "module"] as const;

/** The ops of the selected module, and what a checkpointing policy has to know of each. */
export const opsView: View = {
  name: "ops",
  title: "Ops",
  draw: drawOps,
  move(app, by) {
    const { rows } = visible(app);
    app.state.ops.cursor = Math.max(0, Math.min(rows.length - 1, app.state.ops.cursor + by));
  },
  click(app, target) {
    const { ops } = app.state;
    if (target.kind === "row") {
      if (ops.cursor === target.index) ops.isDetailed = !ops.isDetailed;
      else ops.cursor = target.index;
    } else if (target.kind === "header")
      sorted(app, () => {
        ops.sort = nextSort(ops.sort, target.column as OpTableColumn, "op", "name", "module");
      });
  },
  actions: {
    sortNext: (app) => sortBy(app, 1),
    sortPrevious: (app) => sortBy(app, -1),
    reverse: (app) =>
      sorted(app, () => {
        const { ops } = app.state;
        ops.sort = { column: ops.sort?.column ?? "op", descending: !(ops.sort?.descending ?? false) };
      }),
    filter(app) {
      app.state.prompt = { kind: "filter", text: app.state.ops.filter, matches: [], chosen: 0, total: 0 };
    },
    wholeStep(app) {
      const { ops } = app.state;
      app.state.ops = { ...ops, isWholeStep: !ops.isWholeStep, cursor: 0, top: 0 };
    },
    enter(app) {
      app.state.ops.isDetailed = !app.state.ops.isDetailed;
    },
    back(app) {
      const { ops } = app.state;
      if (ops.isDetailed) ops.isDetailed = false;
      else if (ops.filter !== "") app.state.ops = { ...ops, filter: "", cursor: 0, top: 0 };
      else app.state.view = "modules";
    },
  },
  search: (app) => {
    const { view, rows } = visible(app);
    return {
      count: rows.length,
      text: (index) => `${view.op[rows[index]]} ${view.names[rows[index]]} ${moduleOf(view, rows[index])}`,
      current: app.state.ops.cursor,
      show: (index) => {
        app.state.ops.cursor = index;
      },
    };
  },
  table: (app) => {
    const { view, rows } = visible(app);
    return opTable(view, rows);
  },
  copied: (app) => {
    const { view, rows } = visible(app);
    const row = rows[app.state.ops.cursor];
    // An occurrence names the op in another run, too.
    return row === undefined ? undefined : app.document.occurrences()[view.op[row]];
  },
};

function drawOps(app: App, { width, height }: Area): Drawn {
  const { ops } = app.state;
  const { view, rows } = visible(app);
  const bytes = rows.reduce((sum, row) => sum + view.memoryBytes[row], 0);
  const ms = rows.reduce((sum, row) => sum + view.runtimeMs[row], 0);
  const title: Line = [
    { text: view.title, style: "strong" },
    { text: `  ${rows.length} ops, ${formatBytes(bytes)}, ${formatTime(ms)}`, style: "faint" },
    ...(ops.filter === "" ? [] : [{ text: `  filter: ${ops.filter}`, style: "accent" as const }]),
  ];
  const details = ops.isDetailed && rows.length > 0 ? opDetails(app, view.op[rows[ops.cursor]]) : [];
  const room = Math.max(3, height - 2 - Math.min(details.length, Math.floor(height / 2)));
  const window = windowRows({ count: rows.length, height: room, cursor: ops.cursor, top: ops.top });
  ops.cursor = Math.max(0, window.cursor);
  ops.top = window.top;
  const table = drawTable<number>({
    columns: tableColumns(view),
    width,
    glyphs: app.glyphs,
    count: rows.length,
    window,
    row: (index) => rows[index],
    sort: ops.sort,
    isMatch: (index) => app.isMatch(view.names[rows[index]]) || app.isMatch(moduleOf(view, rows[index])),
    ...(details.length > 0 && { height: room }),
  });
  const none: Line[] = rows.length > 0 ? [] : [[{ text: "No op has that in its name or module.", style: "faint" }]];
  return stack(
    textOnly(fitLine(title, width, app.glyphs)),
    table,
    textOnly(...none, ...details.slice(0, Math.max(0, height - 1 - table.lines.length))),
  );
}

function tableColumns(view: OpTableView): readonly TableColumn<number>[] {
  const right = "right" as const;
  return [
    { key: "op", title: "Op", width: 7, align: right, cell: (row) => String(view.op[row]) },
    { key: "name", title: "Name", width: 16, grow: 1, cell: (row) => view.names[row] },
    { key: "runtimeMs", title: "Time", width: 9, align: right, cell: (row) => formatTime(view.runtimeMs[row]) },
    { key: "memoryBytes", title: "Memory", width: 10, align: right, cell: (row) => formatBytes(view.memoryBytes[row]) },
    {
      key: "msps",
      title: "MSPS",
      width: 12,
      align: right,
      priority: 5,
      cell: (row) => formatMsps(view.msps[row]),
    },
    { key: "marks", title: "Flags", width: 20, priority: 4, cell: (row) => markSpans(view, row) },
    {
      key: "module",
      title: "Module",
      width: 20,
      grow: 1,
      cut: "start",
      priority: 3,
      cell: (row) => moduleOf(view, row),
    },
    { key: "phase", title: "Phase", width: 9, priority: 1, cell: (row) => phaseNames[view.phase[row]] },
  ];
}

/** Memory per second of recomputation. */
export function formatMsps(bytesPerMs: number): string {
  if (Number.isNaN(bytesPerMs)) return "";
  return bytesPerMs >= Number.MAX_VALUE ? "free" : `${formatBytes(Math.round(bytesPerMs * 1000))}/s`;
}

/** Flags in short: what an op is, then what every policy must do with it. */
export function markSpans(view: OpTableView, row: number): readonly Span[] {
  const marks = view.marks[row];
  const spans: Span[] = [];
  const add = (bit: number, text: string, style: Span["style"]): void => {
    if ((marks & bit) !== 0) spans.push({ text: spans.length === 0 ? text : ` ${text}`, style });
  };
  add(OpMark.savedByAutograd, "saved", "good");
  add(OpMark.view, "view", "faint");
  add(OpMark.random, "random", "warning");
  add(OpMark.inPlace, view.inPlaceParent[row] >= 0 ? `in-place:${view.inPlaceParent[row]}` : "in-place", "warning");
  add(OpMark.alwaysStored, "stored!", "accent");
  // A view is always recomputed, which goes without saying.
  if ((marks & OpMark.view) === 0) add(OpMark.alwaysRecomputed, "recomputed!", "accent");
  add(OpMark.skipped, "left out", "faint");
  return spans;
}

/** All that the trace knows of an op. */
function opDetails(app: App, op: number): readonly Line[] {
  const { trace } = app.document;
  const { ops } = trace;
  const name: Span = { text: `op ${op} ${trace.opName(op)}`, style: "strong" };
  const field = (label: string, text: string): Line => [{ text: `${label} `, style: "faint" }, { text }];
  const attributes = JSON.stringify(trace.opAttributes(op));
  const forward = ops.forwardOp[op];
  return [
    [{ text: app.glyphs.horizontal.repeat(4), style: "faint" }, { text: " " }, name],
    field("module ", `${trace.opModule(op)?.fqn ?? "(none)"}, ${phaseNames[ops.phase[op]]}`),
    field("inputs ", tensorList(trace, trace.opInputs(op))),
    field("outputs", tensorList(trace, trace.opOutputs(op))),
    ...(attributes === "{}" ? [] : [field("with   ", attributes)]),
    field(
      "cost   ",
      `${formatTime(ops.runtimeMs[op])}, ${count(ops.flops[op])} FLOPs, ${count(ops.bytesRead[op])} B read, ${count(ops.bytesWritten[op])} B written`,
    ),
    ...(forward < 0 ? [] : [field("differentiates", `op ${forward} ${trace.opName(forward)}`)]),
  ];
}

function count(value: number): string {
  return Number.isNaN(value) ? "?" : value.toExponential(2).replace(/e\+0$/, "");
}

function tensorList(trace: Trace, tensors: Int32Array): string {
  return Array.from(tensors, (tensor) => `${trace.tensorDtype(tensor)}[${trace.tensorShape(tensor).join(",")}]`).join(
    "  ",
  );
}

function visible(app: App): { readonly view: OpTableView; readonly rows: Int32Array } {
  const { ops } = app.state;
  const view = app.document.ops(ops.isWholeStep ? "" : (app.selectedModule ?? ""));
  const rows = app.remember("ops", [view, ops.sort, ops.filter], () =>
    opTableRows(view, { sort: ops.sort, filter: ops.filter }),
  );
  return { view, rows };
}

function sortBy(app: App, step: 1 | -1): void {
  sorted(app, () => {
    app.state.ops.sort = sortByNext<OpTableColumn>(app.state.ops.sort, columns, step, "op", "name", "module");
  });
}

/** Sorts otherwise, and keeps the cursor on its op. */
function sorted(app: App, change: () => void): void {
  const before = visible(app);
  const row = before.rows[app.state.ops.cursor];
  change();
  app.state.ops.cursor = Math.max(0, visible(app).rows.indexOf(row));
}
