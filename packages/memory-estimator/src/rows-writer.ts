import type { Rows } from "@remat/trace";

/** Writes compressed rows, one after the other, into arrays that grow by doubling. @internal */
export class RowsWriter {
  private starts = new Int32Array(64);
  private values = new Int32Array(256);
  private rowCount = 0;
  private length = 0;

  push(value: number): void {
    if (this.length === this.values.length) this.values = doubled(this.values);
    this.values[this.length++] = value;
  }

  /** What was pushed since the last call becomes a row. */
  endRow(): void {
    if (this.rowCount + 1 === this.starts.length) this.starts = doubled(this.starts);
    this.starts[++this.rowCount] = this.length;
  }

  rows(): Rows {
    return { start: this.starts.subarray(0, this.rowCount + 1), values: this.values.subarray(0, this.length) };
  }
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

/** For each value its rows, ascending: the transpose of `rows`. @internal */
export function transpose(rows: Rows, valueCount: number): Rows {
  const start = new Int32Array(valueCount + 1);
  for (let i = 0; i < rows.values.length; i++) start[rows.values[i] + 1]++;
  for (let v = 0; v < valueCount; v++) start[v + 1] += start[v];
  const next = start.slice(0, valueCount);
  const values = new Int32Array(rows.values.length);
  for (let r = 0; r + 1 < rows.start.length; r++)
    for (let i = rows.start[r]; i < rows.start[r + 1]; i++) values[next[rows.values[i]]++] = r;
  return { start, values };
}
