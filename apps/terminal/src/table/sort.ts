/** How a table is sorted. */
export interface Sort<Column extends string> {
  readonly column: Column;
  readonly descending: boolean;
}

/**
 * Returns the sorting after a click on a column's header: largest first (names: from A on), then reversed, then
 * unsorted.
 */
export function nextSort<Column extends string>(
  sort: Sort<Column> | undefined,
  column: Column,
  ...ascendingFirst: readonly Column[]
): Sort<Column> | undefined {
  const first = !ascendingFirst.includes(column);
  if (sort?.column !== column) return { column, descending: first };
  return sort.descending === first ? { column, descending: !first } : undefined;
}

/**
 * Returns the sorting after a click on a header, as {@link nextSort} does. Unchanged if the column cannot be sorted.
 */
export function sortByHeader<Column extends string>(
  sort: Sort<Column> | undefined,
  columns: readonly Column[],
  header: string,
  ...ascendingFirst: readonly Column[]
): Sort<Column> | undefined {
  const column = columns.find((name) => name === header);
  return column === undefined ? sort : nextSort(sort, column, ...ascendingFirst);
}

/** Returns the next sorting among the visible `columns`, or no sorting after the last. */
export function sortByNext<Column extends string>(
  sort: Sort<Column> | undefined,
  columns: readonly Column[],
  step: 1 | -1,
  ...ascendingFirst: readonly Column[]
): Sort<Column> | undefined {
  const at = sort === undefined ? -1 : columns.indexOf(sort.column);
  const next = at + step < -1 ? columns.length - 1 : at + step;
  if (next < 0 || next >= columns.length) return undefined;
  return { column: columns[next], descending: !ascendingFirst.includes(columns[next]) };
}

/** Returns the saved sorting if it is by one of `columns`. */
export function restoreSort<Column extends string>(
  columns: readonly Column[],
  saved: unknown,
): Sort<Column> | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const { column: name, descending } = saved as { readonly column?: unknown; readonly descending?: unknown };
  const column = columns.find((one) => one === name);
  return column === undefined ? undefined : { column, descending: descending === true };
}
