import { formatBytes, moduleOf, type OpTableColumn, type OpTableView, opTable, opTableRows } from "@remat/reporting";
import { rememberLast } from "../document/memoize.js";
import { opColumns } from "../drawing/op-columns.js";
import { opDetails } from "../drawing/op-details.js";
import { isMatch, type Outcome, type Scene, type View, type ViewAction } from "../state/view.js";
import { drawTable, shownColumns } from "../table/draw-table.js";
import { type ListPlace, moveBy, settlePlace } from "../table/list-place.js";
import { restoreSort, type Sort, sortByHeader, sortByNext } from "../table/sort.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";

const columns = ["op", "name", "runtimeMs", "memoryBytes", "msps", "marks", "module"] as const;

export interface OpsState extends ListPlace {
  /** True if ops of the whole step are shown. */
  readonly isWholeStep: boolean;
  readonly filter: string;
  readonly sort: Sort<OpTableColumn> | undefined;
  /** True if the op at the cursor is shown with all details. */
  readonly isDetailed: boolean;
  /** True if another view has drilled into that op, so that going back leaves this view. */
  readonly isVisit: boolean;
}

export type OpsKey = "sortNext" | "sortPrevious" | "reverse" | "filter" | "wholeStep";

const start = { cursor: 0, top: 0 } as const;

/** The ops of the selected module, with the facts that a checkpointing policy depends on. */
export const opsView: View<OpsState, OpsKey> = {
  name: "ops",
  title: "Ops",
  terms: [
    ["MSPS", "memory saved by freeing an op's results, per second of recomputing them"],
    ["saved", "kept by autograd for the backward pass; stored!, recomputed!: so by every policy"],
  ],
  keys: [
    { keys: ["s"], action: "sortNext", help: "sort by the next column", hint: "sort" },
    { keys: ["S"], action: "sortPrevious", help: "sort by the previous column" },
    { keys: ["r"], action: "reverse", help: "reverse the order" },
    { keys: ["f"], action: "filter", help: "filter ops by name or module", hint: "filter" },
    { keys: ["a"], action: "wholeStep", help: "all ops of the step, or of the module only" },
  ],
  initial: () => ({ ...start, isWholeStep: false, filter: "", sort: undefined, isDetailed: false, isVisit: false }),
  reduce,
  settle(scene, own) {
    const { rows } = visible(scene, own);
    return { own: settlePlace(own, rows.length, tableRoom(scene, detailsOf(scene, own).length)) };
  },
  draw: drawOps,
  search(scene, own) {
    const { view, rows } = visible(scene, own);
    return {
      count: rows.length,
      text: (index) => `${view.op[rows[index]]} ${view.names[rows[index]]} ${moduleOf(view, rows[index])}`,
      current: own.cursor,
    };
  },
  table(scene, own) {
    const { view, rows } = visible(scene, own);
    return opTable(view, rows);
  },
  copied(scene, own) {
    const op = opAt(scene, own);
    // An occurrence also identifies the op in another run.
    return op === undefined ? undefined : scene.document.occurrences()[op];
  },
  save: ({ sort }) => ({ sort }),
  restore: (_scene, own, saved) => ({
    ...own,
    sort: restoreSort(columns, (saved as { readonly sort?: unknown } | null)?.sort),
  }),
};

function reduce(scene: Scene, own: OpsState, action: ViewAction<OpsKey>): Outcome<OpsState> {
  switch (action.kind) {
    case "key":
      return onKey(scene, own, action.action);
    case "move":
      return { own: moveBy(own, action.by, visible(scene, own).rows.length) };
    case "wheel":
      return { own: moveBy(own, 3 * action.steps, visible(scene, own).rows.length) };
    case "click": {
      const { target } = action;
      if (target.kind === "row")
        return { own: own.cursor === target.index ? detailed(own) : { ...own, cursor: target.index } };
      if (target.kind !== "header") return { own };
      return sorted(scene, own, sortByHeader<OpTableColumn>(own.sort, columns, target.column, "op", "name", "module"));
    }
    case "enter":
      return { own: detailed(own) };
    case "back":
      if (own.isDetailed && !own.isVisit) return { own: { ...own, isDetailed: false } };
      if (own.filter !== "" && !own.isVisit) return { own: { ...own, ...start, filter: "" } };
      return { own: { ...own, isDetailed: false, isVisit: false }, requests: [{ kind: "leave" }] };
    case "choose":
      return { own: { ...own, cursor: action.index } };
    case "typed":
      return { own: { ...own, ...start, filter: action.text } };
    case "arrive":
      return {
        own: arrive(
          scene,
          { ...own, ...start, isWholeStep: false, filter: "", isDetailed: false, isVisit: false },
          action.op,
        ),
      };
    case "answer":
    case "accepted":
      return { own };
  }
}

function onKey(scene: Scene, own: OpsState, action: OpsKey): Outcome<OpsState> {
  const { sort } = own;
  switch (action) {
    case "sortNext":
      return sorted(scene, own, sortByNext<OpTableColumn>(sort, shownOf(scene, own), 1, "op", "name", "module"));
    case "sortPrevious":
      return sorted(scene, own, sortByNext<OpTableColumn>(sort, shownOf(scene, own), -1, "op", "name", "module"));
    case "reverse":
      return sorted(scene, own, { column: sort?.column ?? "op", descending: !(sort?.descending ?? false) });
    case "filter":
      return {
        own,
        requests: [{ kind: "ask", label: "filter: ", text: own.filter, hint: "Enter keeps it, Esc shows all" }],
      };
    case "wholeStep":
      return { own: { ...own, ...start, isWholeStep: !own.isWholeStep } };
  }
}

/** Only visible columns can be sorted by. */
function shownOf(scene: Scene, own: OpsState): readonly OpTableColumn[] {
  const shown = shownColumns(opColumns(visible(scene, own).view, scene.document.formatTime), scene.area.width);
  return columns.filter((column) => shown.has(column));
}

function detailed(own: OpsState): OpsState {
  return { ...own, isDetailed: !own.isDetailed, isVisit: false };
}

/**
 * Opens an op that a view has drilled into: among those of its module if they contain it, otherwise of the whole step.
 */
function arrive(scene: Scene, own: OpsState, op: number | undefined): OpsState {
  if (op === undefined) return own;
  for (const isWholeStep of [false, true]) {
    const shown = { ...own, isWholeStep };
    const { view, rows } = visible(scene, shown);
    const cursor = rows.findIndex((row) => view.op[row] === op);
    if (cursor >= 0) return { ...shown, cursor, isDetailed: true, isVisit: true };
  }
  return own;
}

/** Changes the sorting and keeps the cursor on its op. */
function sorted(scene: Scene, own: OpsState, sort: OpsState["sort"]): Outcome<OpsState> {
  const row = visible(scene, own).rows[own.cursor];
  const next = { ...own, sort };
  return { own: { ...next, cursor: Math.max(0, visible(scene, next).rows.indexOf(row)) } };
}

const rowsOf = rememberLast((view: OpTableView, sort: OpsState["sort"], filter: string) =>
  opTableRows(view, { sort, filter }),
);
const totalsOf = rememberLast((rows: Int32Array, view: OpTableView) => ({
  bytes: rows.reduce((sum, row) => sum + view.memoryBytes[row], 0),
  ms: rows.reduce((sum, row) => sum + view.runtimeMs[row], 0),
}));

function visible(
  { document, module }: Scene,
  { isWholeStep, sort, filter }: OpsState,
): { view: OpTableView; rows: Int32Array } {
  const view = document.ops(isWholeStep ? "" : (module ?? ""));
  return { view, rows: rowsOf(view, sort, filter) };
}

/** Op of the trace at the cursor. */
function opAt(scene: Scene, own: OpsState): number | undefined {
  const { view, rows } = visible(scene, own);
  const row = rows[own.cursor];
  return row === undefined ? undefined : view.op[row];
}

function detailsOf(scene: Scene, own: OpsState): readonly Line[] {
  const op = own.isDetailed ? opAt(scene, own) : undefined;
  return op === undefined ? [] : opDetails(scene.document.trace, op, scene.document.formatTime, scene.look.glyphs);
}

/** Lines for rows of the table, below its header. */
function tableRoom({ area: { height } }: Scene, details: number): number {
  return Math.max(3, height - 2 - Math.min(details, Math.floor(height / 2)));
}

function drawOps(scene: Scene, own: OpsState): Drawn {
  const { width, height } = scene.area;
  const { glyphs } = scene.look;
  const { view, rows } = visible(scene, own);
  const { bytes, ms } = totalsOf(rows, view);
  const title: Line = [
    { text: view.title, style: "strong" },
    { text: `  ${rows.length} ops, ${formatBytes(bytes)}, ${scene.document.formatTime(ms)}`, style: "faint" },
    ...(own.filter === "" ? [] : [{ text: `  filter: ${own.filter}`, style: "accent" as const }]),
  ];
  const details = detailsOf(scene, own);
  const room = tableRoom(scene, details.length);
  const table = drawTable<number>({
    columns: opColumns(view, scene.document.formatTime),
    width,
    glyphs,
    count: rows.length,
    window: windowRows({ count: rows.length, height: room, cursor: own.cursor, top: own.top }),
    row: (index) => rows[index],
    sort: own.sort,
    isMatch: (index) => isMatch(scene, view.names[rows[index]]) || isMatch(scene, moduleOf(view, rows[index])),
    ...(details.length > 0 && { height: room }),
  });
  const none: Line[] = rows.length > 0 ? [] : [[{ text: "No op matches the filter.", style: "faint" }]];
  return stack(
    textOnly(fitLine(title, width, glyphs)),
    table,
    textOnly(...none, ...details.slice(0, Math.max(0, height - 1 - table.lines.length))),
  );
}
