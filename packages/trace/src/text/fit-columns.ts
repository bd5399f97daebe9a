/** The properties of a column that are needed to fit it into a row. */
export interface FittableColumn {
  /** Minimum width in characters. */
  readonly width: number;
  /** Share of the remaining width that the column gets. */
  readonly grow?: number;
  /**
   * If the width is too small, columns with the lowest priority are left out first. A column without a priority is
   * never left out.
   */
  readonly priority?: number;
}

/**
 * Returns the columns that fit into `width`, with their widths, separated by `gap` characters. Columns with the lowest
 * priority are left out until the rest fits. Nothing is wrapped.
 *
 * @example
 * fitColumns([{ width: 20 }, { width: 8, priority: 2 }, { width: 8, priority: 1 }], 30); // the first two
 */
export function fitColumns<Column extends FittableColumn>(
  columns: readonly Column[],
  width: number,
  gap = 1,
): readonly { readonly column: Column; readonly width: number }[] {
  let kept = [...columns];
  const needed = (): number => kept.reduce((sum, column) => sum + column.width + gap, -gap);
  while (needed() > width) {
    const first = kept
      .filter((column) => column.priority !== undefined)
      .reduce<Column | undefined>((a, b) => (a === undefined || b.priority! < a.priority! ? b : a), undefined);
    if (first === undefined) break;
    kept = kept.filter((column) => column !== first);
  }
  const spare = width - needed();
  const parts = kept.reduce((sum, { grow = 0 }) => sum + grow, 0);
  return kept.map((column) => {
    const more = column.grow === undefined ? 0 : Math.floor((spare * column.grow) / parts);
    return { column, width: Math.max(1, column.width + more) };
  });
}
