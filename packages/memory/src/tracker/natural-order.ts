/** Sorts `items` as people sort names: `layers.2` before `layers.10`, ignoring case. Equal names keep their order. */
export function naturalOrder<T>(items: readonly T[], nameOf: (item: T) => string): readonly T[] {
  return items
    .map((item) => ({
      item,
      parts: nameOf(item)
        .toLowerCase()
        .split(/([0-9]+)/),
    }))
    .sort((a, b) => compareParts(a.parts, b.parts))
    .map(({ item }) => item);
}

/**
 * Compares two names. Text and digits alternate, text first, so parts at the same position are always of the same kind.
 */
function compareParts(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] === b[i]) continue;
    const difference = i % 2 === 1 ? Number(a[i]) - Number(b[i]) : a[i] < b[i] ? -1 : 1;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
