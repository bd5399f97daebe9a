import { formatBytes, formatPercent, type ModuleNode, type ModuleTreeView, type TimeFormat } from "@remat/reporting";
import type { TableColumn } from "../table/draw-table.js";
import { cutText, fitText } from "../text/fit-text.js";
import { barText, type Glyphs } from "../text/glyphs.js";
import { showControls } from "../text/show-controls.js";

/** Returns the columns of a module tree whose `expanded` modules show their children. */
export function moduleColumns(
  { totals }: ModuleTreeView,
  expanded: ReadonlySet<number>,
  formatTime: TimeFormat,
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
