import { isDeepStrictEqual } from "node:util";

/** Where two lists differ first, and what stands there in each. */
export interface Difference {
  readonly index: number;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/**
 * Where two lists differ first; undefined where they are the same, element by element. For lists of all ops: to `expect` something of each takes many times as long as to compare
 * them.
 */
export function firstDifference(ours: readonly unknown[], theirs: readonly unknown[]): Difference | undefined {
  for (let index = 0; index < Math.max(ours.length, theirs.length); index++)
    if (index >= ours.length || index >= theirs.length || !isDeepStrictEqual(ours[index], theirs[index]))
      return { index, ours: ours[index], theirs: theirs[index] };
  return undefined;
}
