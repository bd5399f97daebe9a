/** How many times a sequence has to occur to count as repeating. */
const timesSeen = 3;

/** A sequence that repeats. */
export interface Repeat {
  readonly length: number;
  /** Length of the part at the end of the list that consists of repetitions. */
  readonly explained: number;
}

/**
 * Returns the sequence that is repeated three or more times at the end of the list, or undefined if none exists. If
 * there are several, it is the one that explains most of the list, and then the shortest. In a program without steps or
 * calls of `predict`, this finds the repeating part by the ops that it runs.
 *
 * @example
 * findRepeat(["tensor", "add", "mul", "add", "mul", "add", "mul"]); // { length: 2, explained: 6 }
 */
export function findRepeat(ops: readonly (string | number)[]): Repeat | undefined {
  let found: Repeat | undefined;
  let most = 0;
  for (let length = 1; timesSeen * length <= ops.length; length++) {
    let at = ops.length - 1;
    while (at >= length && ops[at] === ops[at - length]) at--;
    const explained = ops.length - 1 - at + length;
    if (explained < timesSeen * length || explained <= most) continue;
    found = { length, explained };
    most = explained;
  }
  return found;
}
