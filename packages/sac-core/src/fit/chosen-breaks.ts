import type { DistinctPoints } from "./distinct-points.js";
import { fitWithBreaks } from "./least-squares.js";

/**
 * Breaks chosen so far, last first. A break is at a point (its index), or in the gap after a point where two lines meet
 * (its index plus a half).
 */
export interface ChosenBreak {
  readonly at: number;
  readonly before: ChosenBreak | undefined;
}

/**
 * Returns the x of the chosen breaks, ascending. A break in a gap is where the best lines of the points on both sides
 * meet.
 */
export function placeBreaks(points: DistinctPoints, chosen: ChosenBreak | undefined): number[] {
  const all: number[] = [];
  for (let one = chosen; one !== undefined; one = one.before) all.unshift(one.at);
  const placed: number[] = [];
  let start = 0;
  let left: { slope: number; intercept: number } | undefined;
  let joined: number[] = [];
  for (const at of [...all, points.count - 0.5]) {
    if (Number.isInteger(at)) {
      joined.push(points.x[at]);
      continue;
    }
    // The points from `start` up to the gap form one broken line, independent of the others.
    const end = Math.floor(at) + 1;
    const line = lineThrough(points, start, end, joined);
    if (left !== undefined) placed.push(meeting(left, line.first, points.x[start - 1], points.x[start]));
    placed.push(...joined);
    left = line.last;
    joined = [];
    start = end;
  }
  return placed;
}

function lineThrough(points: DistinctPoints, from: number, to: number, breaks: readonly number[]) {
  const x: number[] = [];
  const y: number[] = [];
  for (let i = from; i < to; i++)
    for (let repeat = 0; repeat < points.weight[i]; repeat++) {
      x.push(points.x[i]);
      y.push(points.y[i]);
    }
  const ends = [points.x[from], ...breaks, points.x[to - 1]];
  const { slopes, intercepts } = fitWithBreaks(Float64Array.from(x), Float64Array.from(y), ends);
  const line = (k: number) => ({ slope: slopes[k], intercept: intercepts[k] });
  return { first: line(0), last: line(slopes.length - 1) };
}

/** The x between `low` and `high` where two lines meet, or the middle if they coincide. */
function meeting(
  a: { readonly slope: number; readonly intercept: number },
  b: { readonly slope: number; readonly intercept: number },
  low: number,
  high: number,
): number {
  const at = (b.intercept - a.intercept) / (a.slope - b.slope);
  return Number.isFinite(at) ? Math.min(high, Math.max(low, at)) : (low + high) / 2;
}
