import { formatBytes } from "@remat/reporting";
import { type LeaksRow, leaksFacts, leaksRows, leaksTable, summarizeLeaks } from "@remat/reporting/documents";
import type { Trace } from "@remat/trace";
import { wrapText } from "@remat/trace/text";
import { rememberLast } from "../document/memoize.js";
import { isMatch, type Outcome, type Scene, type View, type ViewAction } from "../state/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { type ListPlace, moveBy, settlePlace } from "../table/list-place.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";

/** Storages that outlive the steps of a trace, by line, op, shape and module. */
export const leaksView: View<ListPlace, never> = {
  name: "leaks",
  title: "Leaks",
  terms: [["outlives its step", "made by a step, and there still when it is over"]],
  keys: [],
  initial: () => ({ cursor: 0, top: 0 }),
  reduce,
  settle: (scene, own) => ({ own: settlePlace(own, rowsOf(scene).length, tableRoom(scene, own)) }),
  draw: drawLeaks,
  search(scene, own) {
    const rows = rowsOf(scene);
    return { count: rows.length, text: (index) => textOf(rows[index]), current: own.cursor };
  },
  table: (scene) => leaksTable(summaryOf(scene)),
  copied: (scene, own) => rowsOf(scene)[own.cursor]?.line,
};

function reduce(scene: Scene, own: ListPlace, action: ViewAction<never>): Outcome<ListPlace> {
  switch (action.kind) {
    case "move":
      return { own: moveBy(own, action.by, rowsOf(scene).length) };
    case "wheel":
      return { own: moveBy(own, 3 * action.steps, rowsOf(scene).length) };
    case "click":
      return { own: action.target.kind === "row" ? { ...own, cursor: action.target.index } : own };
    case "choose":
      return { own: { ...own, cursor: action.index } };
    case "back":
      return { own, requests: [{ kind: "leave" }] };
    default:
      return { own };
  }
}

const summarize = rememberLast((trace: Trace) => summarizeLeaks(trace));
const rowsOfTrace = rememberLast((trace: Trace) => leaksRows(summarize(trace)));
const summaryOf = ({ document }: Scene) => summarize(document.trace);
const rowsOf = ({ document }: Scene): readonly LeaksRow[] => rowsOfTrace(document.trace);
const textOf = ({ line, op, tensor, module }: LeaksRow): string => `${line} ${op} ${tensor} ${module}`;

const right = "right" as const;
const columns: readonly TableColumn<LeaksRow>[] = [
  { key: "line", title: "Line", width: 24, grow: 1, cut: "start", cell: ({ line }) => line },
  { key: "op", title: "Op", width: 14, cell: ({ op }) => op },
  { key: "tensor", title: "Tensor", width: 18, priority: 4, cell: ({ tensor }) => tensor },
  { key: "module", title: "Module", width: 16, grow: 1, cut: "start", priority: 2, cell: ({ module }) => module },
  { key: "kind", title: "Kind", width: 12, priority: 5, cell: ({ kind }) => kind },
  { key: "count", title: "Storages", width: 8, align: right, cell: ({ count }) => `${count}` },
  { key: "bytes", title: "Memory", width: 10, align: right, cell: ({ bytes }) => formatBytes(bytes) },
  { key: "growth", title: "Per step", width: 14, align: right, priority: 3, cell: ({ growth }) => growth },
];

/** Lines above the table. */
function headOf(scene: Scene): readonly Line[] {
  const { width } = scene.area;
  return leaksFacts(summaryOf(scene)).facts.flatMap((fact, i) =>
    wrapText(fact, width, "  ").map(
      (text): Line => fitLine([{ text, style: i === 0 ? "strong" : "faint" }], width, scene.look.glyphs),
    ),
  );
}

/** The fix for the row at the cursor. */
function fixOf(scene: Scene, own: ListPlace): readonly Line[] {
  const row = rowsOf(scene)[own.cursor];
  if (row === undefined) return [];
  return [[], fitLine([{ text: `fix: ${row.fix}`, style: "accent" }], scene.area.width, scene.look.glyphs)];
}

function tableRoom(scene: Scene, own: ListPlace): number {
  return Math.max(3, scene.area.height - headOf(scene).length - 1 - fixOf(scene, own).length);
}

function drawLeaks(scene: Scene, own: ListPlace): Drawn {
  const { width, height } = scene.area;
  const rows = rowsOf(scene);
  const head = headOf(scene);
  if (rows.length === 0) return textOnly(...head.slice(0, height));
  const table = drawTable<LeaksRow>({
    columns,
    width,
    glyphs: scene.look.glyphs,
    count: rows.length,
    window: windowRows({ count: rows.length, height: tableRoom(scene, own), cursor: own.cursor, top: own.top }),
    row: (index) => rows[index],
    isMatch: (index) => isMatch(scene, textOf(rows[index])),
  });
  const drawn = stack(textOnly(...head), table, textOnly(...fixOf(scene, own)));
  return { lines: drawn.lines.slice(0, height), regions: drawn.regions };
}
