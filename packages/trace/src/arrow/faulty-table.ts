/** A fault in a table of a trace. The reader adds the name of the file. */
export class FaultyTable extends Error {
  /** The table, the row and the field: `ops row 12, field 'inputs'`. */
  readonly place: string;

  constructor(
    table: string,
    row: number | undefined,
    field: string,
    detail: string,
    options?: { readonly cause?: unknown },
  ) {
    super(detail, options);
    this.place = `${table}${row === undefined ? "" : ` row ${row}`}, field '${field}'`;
  }
}
