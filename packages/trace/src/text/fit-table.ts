import { fitColumns } from "./fit-columns.js";
import { textWidth } from "./table-layout.js";

/** Options for {@link fitTable}, which fits a table of texts to the width of a terminal. */
export interface FitTableOptions {
  readonly headers: readonly string[];
  /** Characters per line. */
  readonly width: number;
  /**
   * The value of each column. The least valuable columns are left out first. If two columns have the same value, the
   * last one is left out first. The first column always stays. By default all columns have the same value.
   */
  readonly worth?: readonly number[];
  /** Headers of the columns that contain names. Long names may lose their beginning. Default: the first column. */
  readonly names?: readonly string[];
}

/** A table whose columns fit the width. */
export interface FittedTable {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Headers of the columns that were left out. */
  readonly leftOut: readonly string[];
  /** Width of the complete table, in characters. */
  readonly wholeWidth: number;
}

/** Space between columns, and extra space in a header, as in tabulate's layout. */
const gap = 2;
const headerPadding = 2;
/** A shorter name would not be recognizable. */
const narrowestName = 12;

/**
 * Returns the part of a table that fits into `width` when `formatTable` writes it. The least valuable columns are left
 * out. Long names lose their beginning, since their ends distinguish them. Cells are single-line texts.
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
    // Among columns of the same value, the last one is left out first.
    ...(index > 0 && { priority: (worth?.[index] ?? 0) - index / headers.length }),
  }));
  const wholeWidth = widthOf(columns);
  if (wholeWidth <= width) return { headers, rows, leftOut: [], wholeWidth };
  const longestName = Math.max(narrowestName, Math.floor((0.45 * width) / Math.max(1, names.length)));
  const shortened = columns.map((column) =>
    column.isName ? { ...column, width: Math.min(column.width, longestName) } : column,
  );
  const kept = fitColumns(shortened, width, gap).map(({ column }) => column);
  // The remaining width goes to the columns with names, in their order.
  let spare = width - widthOf(kept);
  const widths = new Map(
    kept.map(({ index, isName, width: least }) => {
      const more = isName ? Math.max(Math.min(spare, columns[index].width - least), narrowestName - least) : 0;
      spare -= more;
      return [index, isName ? least + more : Number.POSITIVE_INFINITY];
    }),
  );
  // A wide column that was left out last may leave space for a narrow one that was left out before.
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
