import { isDeepStrictEqual } from "node:util";

/** The first difference between two lists, with both elements. */
export interface Difference {
  readonly index: number;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/**
 * Returns the first difference between two lists, or undefined if they are equal element by element. For lists of all
 * ops: calling `expect` for each element takes many times as long as comparing them.
 */
export function firstDifference(ours: readonly unknown[], theirs: readonly unknown[]): Difference | undefined {
  for (let index = 0; index < Math.max(ours.length, theirs.length); index++)
    if (index >= ours.length || index >= theirs.length || !isDeepStrictEqual(ours[index], theirs[index]))
      return { index, ours: ours[index], theirs: theirs[index] };
  return undefined;
}
