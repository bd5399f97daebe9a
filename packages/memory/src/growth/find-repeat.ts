/** So often a sequence has to come before it counts as repeating. */
const timesSeen = 3;

/** A sequence that comes again and again. */
export interface Repeat {
  readonly length: number;
  /** How much of the end of the list it is, over and over. */
  readonly explained: number;
}

/**
 * Returns the sequence that the list ends with three times over or more, of several the one that explains most of the list, then the shortest;
 * undefined where there is none. What a program without steps or calls of `predict` does again and again is found by the ops that it runs.
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
