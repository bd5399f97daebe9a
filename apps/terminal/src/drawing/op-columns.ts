import { formatBytes, moduleOf, OpMark, type OpTableView, type TimeFormat } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import type { TableColumn } from "../table/draw-table.js";
import type { Span } from "../text/line.js";

/** Returns the columns of an op table. */
export function opColumns(view: OpTableView, formatTime: TimeFormat): readonly TableColumn<number>[] {
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
function formatMsps(bytesPerMs: number): string {
  if (Number.isNaN(bytesPerMs)) return "";
  return bytesPerMs >= Number.MAX_VALUE ? "free" : `${formatBytes(Math.round(bytesPerMs * 1000))}/s`;
}

/** Returns the short labels of an op: its properties, then whether every policy must save or recompute it. */
function markSpans(view: OpTableView, row: number): readonly Span[] {
  const marks = view.marks[row];
  const spans: Span[] = [];
  const add = (bit: number, text: string, style: Span["style"]): void => {
    if ((marks & bit) !== 0) spans.push({ text: spans.length === 0 ? text : ` ${text}`, style });
  };
  add(OpMark.savedByAutograd, "saved", "good");
  add(OpMark.view, "view", "faint");
  add(OpMark.random, "random", "warning");
  add(OpMark.inPlace, view.inPlaceParent[row] >= 0 ? `in-place:${view.inPlaceParent[row]}` : "in-place", "warning");
  add(OpMark.alwaysStored, "saved!", "accent");
  // Views are always recomputed, so they are not marked as such.
  if ((marks & OpMark.view) === 0) add(OpMark.alwaysRecomputed, "recomputed!", "accent");
  add(OpMark.skipped, "skipped", "faint");
  return spans;
}
