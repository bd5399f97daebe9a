import type { ChosenBreak } from "./chosen-breaks.js";

/**
 * Least residual of all points up to a break, as a function of the line's height at the break: `least + stiffness *
 * (height - best)²` from `low` to `high`.
 */
export interface HeightCost {
  readonly low: number;
  readonly high: number;
  readonly least: number;
  readonly stiffness: number;
  readonly best: number;
  readonly breaks: ChosenBreak;
}

/** The lower envelope of costs: the least cost at each height. */
export class HeightCosts {
  /** In ascending order, without overlaps. */
  readonly pieces: HeightCost[] = [];

  /** Adds a cost. Returns the number of pieces visited. */
  add(added: HeightCost): number {
    const { pieces } = this;
    const first = this.firstAbove(added.low);
    let end = first;
    let isCovered = true;
    let isLower = false;
    for (let at = added.low; ; end++) {
      if (end === pieces.length || pieces[end].low >= added.high) {
        isCovered &&= at >= added.high;
        break;
      }
      const piece = pieces[end];
      if (piece.low > at) isCovered = false;
      isLower ||= goesBelow(added, piece, Math.max(piece.low, added.low), Math.min(piece.high, added.high));
      at = piece.high;
    }
    if (!isCovered || isLower) pieces.splice(first, end - first, ...lowerCosts(pieces.slice(first, end), added));
    return end - first + 1;
  }

  /** Index of the first piece that ends above a height. */
  private firstAbove(height: number): number {
    const { pieces } = this;
    let low = 0;
    let high = pieces.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pieces[middle].high <= height) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** True if `a` is below `b` somewhere between `from` and `to`: at an end, or where their difference is smallest. */
function goesBelow(a: HeightCost, b: HeightCost, from: number, to: number): boolean {
  if (costAt(a, from) < costAt(b, from) || costAt(a, to) < costAt(b, to)) return true;
  if (!(a.stiffness > b.stiffness)) return false;
  const lowest = (a.stiffness * a.best - b.stiffness * b.best) / (a.stiffness - b.stiffness);
  return lowest > from && lowest < to && costAt(a, lowest) < costAt(b, lowest);
}

/** The envelope of `added` and the pieces in `kept` that overlap it. */
function lowerCosts(kept: readonly HeightCost[], added: HeightCost): HeightCost[] {
  const lower: HeightCost[] = [];
  const push = (cost: HeightCost, low: number, high: number): void => {
    if (!(high > low)) return;
    const last = lower.at(-1);
    if (last !== undefined && last.breaks === cost.breaks && last.high === low)
      lower[lower.length - 1] = between(cost, last.low, high);
    else lower.push(between(cost, low, high));
  };
  let at = added.low;
  for (const piece of kept) {
    push(piece, piece.low, at);
    push(added, at, piece.low);
    at = Math.max(at, piece.low);
    const end = Math.min(piece.high, added.high);
    for (const meeting of [...meetings(piece, added, at, end), end]) {
      const middle = (at + meeting) / 2;
      push(costAt(added, middle) < costAt(piece, middle) ? added : piece, at, meeting);
      at = meeting;
    }
    push(piece, at, piece.high);
  }
  push(added, at, added.high);
  return lower;
}

function between(cost: HeightCost, low: number, high: number): HeightCost {
  const { least, stiffness, best, breaks } = cost;
  return cost.low === low && cost.high === high ? cost : { low, high, least, stiffness, best, breaks };
}

function costAt(cost: HeightCost, height: number): number {
  return cost.least + cost.stiffness * (height - cost.best) * (height - cost.best);
}

/** Heights between `from` and `to` at which two costs are equal, ascending. */
function meetings(a: HeightCost, b: HeightCost, from: number, to: number): number[] {
  // Relative to the best height of b, so that small numbers are subtracted.
  const shift = b.best - a.best;
  const square = a.stiffness - b.stiffness;
  const half = a.stiffness * shift;
  const constant = a.least - b.least + half * shift;
  const root = half * half - square * constant;
  if (!(root > 0)) return [];
  const sum = -(half + (half < 0 ? -1 : 1) * Math.sqrt(root));
  const found = [b.best + sum / square, b.best + constant / sum].filter((height) => height > from && height < to);
  return found.length === 2 && found[0] > found[1] ? [found[1], found[0]] : found;
}
