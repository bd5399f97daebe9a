import { type IndexColumn, newIndexColumn } from "./index-types.js";
import type { Rows } from "./trace.js";

/**
 * Returns the rows that contain each value, in ascending order. A row that contains a value twice appears twice.
 *
 * @typeParam R the indices of rows
 * @param valueCount number of possible values: the whole numbers from 0 to `valueCount - 1`
 * @example
 * const readers = transposeRows<OpIndex>(trace.ops.inputs, trace.tensors.count);
 * row(readers, tensor); // the ops that read it
 */
export function transposeRows<R extends number = number>(rows: Rows, valueCount: number): Rows<IndexColumn<R>> {
  const start = new Int32Array(valueCount + 1);
  for (let i = 0; i < rows.values.length; i++) start[rows.values[i] + 1]++;
  for (let v = 0; v < valueCount; v++) start[v + 1] += start[v];
  const next = start.slice(0, valueCount);
  const values = newIndexColumn<R>(rows.values.length);
  for (let r = 0; r + 1 < rows.start.length; r++)
    for (let i = rows.start[r]; i < rows.start[r + 1]; i++) values[next[rows.values[i]]++] = r as R;
  return { start, values };
}
