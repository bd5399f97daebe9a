/** The part of a long list that is on the screen. */
export interface RowWindow {
  /** First row shown, and the one after the last. */
  readonly top: number;
  readonly end: number;
  /** Row of the cursor, or -1 for an empty list. */
  readonly cursor: number;
}

export interface WindowOptions {
  readonly count: number;
  /** Rows that fit. */
  readonly height: number;
  /** Where the cursor is wanted; brought into the list. */
  readonly cursor: number;
  /** Where the window was; moved no further than the cursor demands. */
  readonly top: number;
}

/** Tells which rows to draw so that the cursor is among them, the window moves as little as it can, and no line is left empty without need. */
export function windowRows({ count, height, cursor, top }: WindowOptions): RowWindow {
  const rows = Math.max(0, Math.floor(height));
  if (count <= 0 || rows === 0) return { top: 0, end: 0, cursor: count <= 0 ? -1 : clamp(cursor, count - 1) };
  const at = clamp(cursor, count - 1);
  const last = Math.max(0, count - rows);
  let first = clamp(top, last);
  if (at < first) first = at;
  else if (at >= first + rows) first = at - rows + 1;
  return { top: first, end: Math.min(count, first + rows), cursor: at };
}

/** Tells where the thumb of a scroll bar of `height` cells is: from `start` on, `size` cells. Nothing where all rows are on the screen. */
export function scrollThumb(
  { top, end }: RowWindow,
  count: number,
  height: number,
): { readonly start: number; readonly size: number } | undefined {
  if (end - top >= count || height <= 0) return undefined;
  const size = Math.max(1, Math.min(height, Math.round((height * (end - top)) / count)));
  const room = count - (end - top);
  return { start: Math.round(((height - size) * top) / room), size };
}

function clamp(value: number, max: number): number {
  return Math.max(0, Math.min(max, Number.isFinite(value) ? Math.floor(value) : 0));
}
