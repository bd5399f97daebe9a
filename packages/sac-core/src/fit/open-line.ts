import type { ChosenBreak } from "./chosen-breaks.js";
import type { RunningLine } from "./running-line.js";

/** A line that may end in the gap after the points so far: their residual, and its heights at both ends of the gap. */
export interface OpenLine {
  readonly residual: number;
  readonly left: number;
  readonly right: number;
  readonly breaks: ChosenBreak | undefined;
}

/**
 * Returns the heights at point `to` for which `line`, which may otherwise turn freely, meets `open` in the gap before
 * point `from`.
 */
export function heightsThatMeet(
  open: OpenLine,
  line: RunningLine,
  x: ArrayLike<number>,
  from: number,
  to: number,
): { low: number; high: number } {
  const best = line.at(x[to]);
  // Both ends of the gap go down if the height at `to` goes up. A line through two points turns about the first.
  const met = (at: number, height: number): number => {
    const away = height - line.at(at);
    const falls = Math.min(0, line.following(at, x[to]));
    if (falls > -1e-14) return away > 0 ? -Infinity : Infinity;
    return best + away / falls;
  };
  const a = met(x[from - 1], open.left);
  const b = met(x[from], open.right);
  return { low: Math.min(a, b), high: Math.max(a, b) };
}
