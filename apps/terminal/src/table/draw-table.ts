import { type FittableColumn, fitColumns } from "@remat/trace/text";
import type { Region } from "../text/drawn.js";
import { type Cut, fitText } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";
import { type RowWindow, scrollThumb } from "./window-rows.js";

/** A column of a table. */
export interface TableColumn<Row> extends FittableColumn {
  readonly key: string;
  readonly title: string;
  /** The side at which a text is cut if it is too long. Left out: the end. */
  readonly cut?: Cut;
  readonly align?: "left" | "right";
  /** A text, or spans that together are at most `width` columns wide. */
  cell(row: Row, width: number): string | readonly Span[];
}

export interface TableOptions<Row> {
  readonly columns: readonly TableColumn<Row>[];
  readonly width: number;
  readonly glyphs: Glyphs;
  readonly count: number;
  readonly window: RowWindow;
  row(index: number): Row;
  readonly sort?: { readonly column: string; readonly descending: boolean } | undefined;
  /** Rows that match a search. */
  isMatch?(index: number): boolean;
  /** False if the cursor is elsewhere. */
  readonly hasCursor?: boolean;
  /** Lines available for rows. Unused ones are empty. Left out: as many as there are rows. */
  readonly height?: number;
}

/** A drawn table: the header and the visible rows, each `width` columns wide, and the clickable regions. */
export interface DrawnTable {
  readonly lines: readonly Line[];
  readonly regions: readonly Region[];
}

/** Returns the keys of the columns that fit in a table of that width. */
export function shownColumns<Row>(columns: readonly TableColumn<Row>[], width: number): ReadonlySet<string> {
  // Always leaves space for a scroll bar, so that columns do not come and go with the number of rows.
  return new Set(fitColumns(columns, width - 1).map(({ column }) => column.key));
}

/** Draws the visible rows of a table. Other rows are not requested. */
export function drawTable<Row>(options: TableOptions<Row>): DrawnTable {
  const { glyphs, window, count, sort, hasCursor = true } = options;
  const hasBar = glyphs.scrollTrack !== "";
  const thumb = hasBar ? scrollThumb(window, count, window.end - window.top) : undefined;
  const width = options.width - (thumb === undefined ? 0 : 1);
  const columns = fitColumns(options.columns, width);
  const regions: Region[] = [];
  const header: Span[] = [];
  let x = 0;
  for (const { column, width: wide } of columns) {
    const isSorted = sort?.column === column.key;
    const arrow = isSorted ? (sort.descending ? glyphs.descending : glyphs.ascending) : "";
    const text = fitText(column.align === "right" ? arrow + column.title : column.title + arrow, wide, glyphs, {
      align: column.align ?? "left",
    });
    regions.push({ x, y: 0, width: wide, height: 1, target: { kind: "header", column: column.key } });
    header.push({ text, style: isSorted ? "sorted" : "header" }, { text: " " });
    x += wide + 1;
  }
  const lines: Line[] = [fitLine(header, options.width, glyphs)];
  for (let index = window.top; index < window.end; index++) {
    const row = options.row(index);
    const isSelected = hasCursor && index === window.cursor;
    const spans: Span[] = [];
    for (const { column, width: wide } of columns) {
      const cell = column.cell(row, wide);
      if (typeof cell === "string")
        spans.push({ text: fitText(cell, wide, glyphs, { align: column.align ?? "left", cut: column.cut ?? "end" }) });
      else {
        const gap = " ".repeat(Math.max(0, wide - lineWidth(cell)));
        if (column.align === "right") spans.push({ text: gap });
        spans.push(...fitLine(cell, Math.min(wide, lineWidth(cell)), glyphs));
        if (column.align !== "right") spans.push({ text: gap });
      }
      spans.push({ text: " " });
    }
    const isMatch = options.isMatch?.(index) ?? false;
    const styled: readonly Span[] = isSelected
      ? [{ text: textOf(fitLine(spans, width, glyphs)), style: "selected" }]
      : isMatch
        ? spans.map((span, i) => (i === 0 ? { text: span.text, style: "match" as const } : span))
        : spans;
    const line = [...fitLine(styled, width, glyphs)];
    const y = index - window.top;
    if (thumb !== undefined) {
      const onThumb = y >= thumb.start && y < thumb.start + thumb.size;
      line.push({ text: onThumb ? glyphs.scrollThumb : glyphs.scrollTrack, style: "faint" });
    }
    regions.push({ x: 0, y: y + 1, width: options.width, height: 1, target: { kind: "row", index } });
    lines.push(line);
  }
  // Without scrolling, the number of missing rows is shown.
  if (!hasBar && window.end < count && lines.length > 1)
    lines[lines.length - 1] = [{ text: `(${count - window.end + 1} more rows)`, style: "faint" }];
  while (options.height !== undefined && lines.length < options.height + 1) lines.push([]);
  return { lines, regions };
}

function textOf(line: Line): string {
  return line.map(({ text }) => text).join("");
}
