import type { Rows } from "@remat/trace";

/** Writes compressed rows, one after the other, into arrays that grow by doubling. @internal */
export class RowsWriter {
  private starts: Int32Array;
  private values: Int32Array;
  private rowCount = 0;
  private length = 0;

  /** @param expected about how many rows and values will be written, so that the arrays seldom grow */
  constructor({ rows = 63, values = 256 }: { readonly rows?: number; readonly values?: number } = {}) {
    this.starts = new Int32Array(rows + 1);
    // An empty array cannot be doubled.
    this.values = new Int32Array(Math.max(1, values));
  }

  push(value: number): void {
    if (this.length === this.values.length) this.values = doubled(this.values);
    this.values[this.length++] = value;
  }

  /** Ends a row: all values pushed since the last call belong to it. */
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
