import { formatBytes, formatPercent } from "@remat/reporting";
import { type HeldRow, type HeldTree } from "@remat/reporting/held-tree";
import type { TraceDocument } from "../document/trace-document.js";
import type { TableColumn } from "../table/draw-table.js";
import { cutText, fitText, textWidth } from "../text/fit-text.js";
import { barText, type Glyphs } from "../text/glyphs.js";
import { showControls } from "../text/show-controls.js";
import { bandStyle } from "./draw-bands.js";

/** Returns the columns of a memory tree whose `open` groups show their parts. */
export function heldColumns(
  document: TraceDocument,
  tree: HeldTree,
  open: ReadonlySet<number>,
  glyphs: Glyphs,
): readonly TableColumn<HeldRow>[] {
  const right = "right" as const;
  const { bands } = document.categoryBands();
  return [
    {
      key: "label",
      title: "Group",
      width: 28,
      grow: 3,
      cell: ({ id, label, depth, hasParts, category, makers }, wide) => {
        const mark = hasParts ? (open.has(id) ? glyphs.expanded : glyphs.collapsed) : glyphs.leaf;
        const indent = "  ".repeat(Math.min(depth, Math.max(0, Math.floor(wide / 6))));
        const band = bands.find(({ key }) => key === category);
        const before = `${indent}${mark} `;
        const text = cutText(
          showControls(inGlyphs(label, glyphs), glyphs.isAscii),
          Math.max(1, wide - textWidth(before)),
          glyphs,
        );
        return [
          { text: before, style: "faint" },
          { text, style: depth === 0 && band !== undefined ? bandStyle(band) : undefined },
          ...(makers === "" ? [] : [{ text: `  ${makers}`, style: "faint" as const }]),
        ];
      },
    },
    { key: "bytes", title: "Size", width: 10, align: right, cell: ({ bytes }) => formatBytes(bytes) },
    {
      key: "share",
      title: "Share",
      width: 8,
      grow: 1,
      cell: ({ share }, wide) => [
        { text: wide > 12 ? barText(share, wide - 8, glyphs) : "", style: "bar" },
        { text: fitText(formatPercent(share), Math.min(8, wide), glyphs, { align: "right" }), style: "faint" },
      ],
    },
    {
      key: "count",
      title: "Storages",
      width: 16,
      align: right,
      priority: 4,
      cell: ({ count, eachBytes }) =>
        count === 1
          ? ""
          : eachBytes === undefined
            ? String(count)
            : inGlyphs(`${count} × ${formatBytes(eachBytes)}`, glyphs),
    },
    ...(tree.line.some((line) => line >= 0)
      ? [
          {
            key: "line",
            title: "Line",
            width: 20,
            cut: "start" as const,
            priority: 3,
            cell: ({ line }: HeldRow) => line ?? "",
          },
        ]
      : []),
  ];
}

/** Returns a label whose separators use the terminal's glyphs. */
export function inGlyphs(label: string, { separator, isAscii }: Glyphs): string {
  const parted = label.replaceAll(" · ", ` ${separator} `);
  return isAscii ? parted.replaceAll(" × ", " x ") : parted;
}
