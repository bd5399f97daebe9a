import { fitColumns } from "./fit-columns.js";
import { textWidth } from "./table-layout.js";

/** A table of texts that is to be no wider than a terminal. */
export interface FitTableOptions {
  readonly headers: readonly string[];
  /** Characters in a line. */
  readonly width: number;
  /** What each column is worth: those worth least go first, of equals the last; the first column stays. Left out: all the same. */
  readonly worth?: readonly number[];
  /** Headers of columns that hold names, whose beginning may be cut; left out: the first column's. */
  readonly names?: readonly string[];
}

/** A table whose columns fit. */
export interface FittedTable {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Headers of the columns that were left out. */
  readonly leftOut: readonly string[];
  /** Characters that all of them take. */
  readonly wholeWidth: number;
}

/** Between columns, and what a header takes beside its text: as tabulate lays a table out. */
const gap = 2;
const headerPadding = 2;
/** Less of a name says nothing. */
const narrowestName = 12;

/**
 * Returns a table that fits into `width` as `formatTable` writes it: columns of least worth are left out, and names that are long lose their beginning,
 * since what tells them apart is at their end. Cells are texts of one line.
 *
 * @example
 * fitTable([["net.layers.0", "4 GiB", "Dense"]], { headers: ["Module", "Held", "Kind"], width: 30, worth: [3, 2, 1] });
 */
export function fitTable(
  rows: readonly (readonly string[])[],
  { headers, width, worth, names = headers.slice(0, 1) }: FitTableOptions,
): FittedTable {
  const columns = headers.map((header, index) => ({
    index,
    isName: names.includes(header),
    width: rows.reduce((most, row) => Math.max(most, textWidth(row[index] ?? "")), textWidth(header) + headerPadding),
    // Of columns that are worth the same, the one that stands last goes first.
    ...(index > 0 && { priority: (worth?.[index] ?? 0) - index / headers.length }),
  }));
  const wholeWidth = widthOf(columns);
  if (wholeWidth <= width) return { headers, rows, leftOut: [], wholeWidth };
  const longestName = Math.max(narrowestName, Math.floor((0.45 * width) / Math.max(1, names.length)));
  const shortened = columns.map((column) =>
    column.isName ? { ...column, width: Math.min(column.width, longestName) } : column,
  );
  const kept = fitColumns(shortened, width, gap).map(({ column }) => column);
  // What is left over goes to names, in their order.
  let spare = width - widthOf(kept);
  const widths = new Map(
    kept.map(({ index, isName, width: least }) => {
      const more = isName ? Math.max(Math.min(spare, columns[index].width - least), narrowestName - least) : 0;
      spare -= more;
      return [index, isName ? least + more : Number.POSITIVE_INFINITY];
    }),
  );
  // A wide column that went last may leave room for a narrow one that went before it.
  const leftOut = columns.filter(({ index }) => !widths.has(index));
  for (const { index, width: wide } of leftOut.toSorted((a, b) => (b.priority ?? 0) - (a.priority ?? 0))) {
    if (wide + gap > spare) continue;
    spare -= wide + gap;
    widths.set(index, Number.POSITIVE_INFINITY);
  }
  const shown = columns.filter(({ index }) => widths.has(index));
  return {
    headers: shown.map(({ index }) => headers[index]),
    rows: rows.map((row) => shown.map(({ index }) => cutStart(row[index] ?? "", widths.get(index)!))),
    leftOut: headers.filter((_, index) => !widths.has(index)),
    wholeWidth,
  };
}

function widthOf(columns: readonly { readonly width: number }[]): number {
  return columns.reduce((sum, column) => sum + column.width + gap, -gap);
}

function cutStart(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `…${characters.slice(characters.length - width + 1).join("")}`;
}
