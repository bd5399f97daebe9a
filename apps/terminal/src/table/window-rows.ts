/** The visible part of a long list. */
export interface RowWindow {
  /** First row shown, and the end of the range (exclusive). */
  readonly top: number;
  readonly end: number;
  /** Row of the cursor, or -1 for an empty list. */
  readonly cursor: number;
}

export interface WindowOptions {
  readonly count: number;
  /** Rows that fit. */
  readonly height: number;
  /** Requested row of the cursor. Limited to the list. */
  readonly cursor: number;
  /** Previous window, moved no further than the cursor requires. */
  readonly top: number;
}

/**
 * Computes the rows to draw. The cursor is among them, the window moves as little as possible, and no line is left
 * empty unnecessarily.
 */
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

/**
 * Returns the position of the thumb of a scroll bar with `height` cells: its start and size. Undefined if all rows are
 * visible.
 */
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
