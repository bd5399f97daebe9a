import type { Rows } from "./trace.js";

/**
 * Returns lists of whole numbers as compressed rows.
 *
 * @example
 * rowsOf([[7, 8], [], [9]]); // { start: [0, 2, 2, 3], values: [7, 8, 9] }, as Int32Arrays
 */
export function rowsOf(lists: readonly (readonly number[])[]): Rows {
  const start = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => (start[i + 1] = start[i] + list.length));
  const values = new Int32Array(start[lists.length]);
  lists.forEach((list, i) => values.set(list, start[i]));
  return { start, values };
}
