/**
 * Returns whether two times agree: to 1e-12 of the larger, since sums in a different order may differ in their last
 * digits.
 */
export function near(expected: number, found: number): boolean {
  return Math.abs(expected - found) <= 1e-12 * Math.max(Math.abs(expected), Math.abs(found));
}

/** The first place at which two lists of integers, names or flags differ, with both sides; `undefined` if they agree. */
export function listDifference(
  name: string,
  expected: ArrayLike<unknown>,
  found: ArrayLike<unknown>,
): string | undefined {
  if (expected.length !== found.length) return `${name}: ${expected.length} items, ours ${found.length}`;
  for (let i = 0; i < expected.length; i++)
    if (expected[i] !== found[i]) return `${name}[${i}]: ${String(expected[i])}, ours ${String(found[i])}`;
  return undefined;
}

/** The same for times. */
export function timesDifference(
  name: string,
  expected: ArrayLike<number>,
  found: ArrayLike<number>,
): string | undefined {
  if (expected.length !== found.length) return `${name}: ${expected.length} items, ours ${found.length}`;
  for (let i = 0; i < expected.length; i++)
    if (!near(expected[i], found[i])) return `${name}[${i}]: ${expected[i]}, ours ${found[i]}`;
  return undefined;
}

/** The first of the differences that is one, looked for in order. */
export function firstDifference(...checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const difference = check();
    if (difference !== undefined) return difference;
  }
  return undefined;
}
