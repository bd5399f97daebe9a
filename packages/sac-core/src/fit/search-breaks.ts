import { brokenLineResidual, residualPointByPoint } from "./broken-line.js";
import type { PointSums } from "./point-sums.js";

/** Share of an interval that golden-section search keeps. */
const kept = (Math.sqrt(5) - 1) / 2;

/** Breaks between two points keep this share of the distance from both points, and from each other. */
const apart = 1e-4;

/**
 * Returns breaks (x, ascending) for more segments than can be searched exactly. It adds to `start` the point that helps
 * most until there are enough breaks. After each addition it moves every break in turn to its best place between its
 * neighbours, until none moves. The result is a local optimum, the same in every run, and never worse than the start.
 */
export function searchBreaks(points: PointSums, start: readonly number[], innerBreaks: number): readonly number[] {
  let breaks: readonly number[] = start;
  while (breaks.length < innerBreaks) {
    let best = Infinity;
    let bestBreaks = breaks;
    for (let i = 1; i < points.count - 1; i++) {
      if (points.x[i] === points.x[0] || points.x[i] === points.x[points.count - 1] || breaks.includes(points.x[i]))
        continue;
      const tried = [...breaks, points.x[i]].sort((a, b) => a - b);
      const residual = residualWith(points, tried);
      if (residual < best) {
        best = residual;
        bestBreaks = tried;
      }
    }
    if (bestBreaks === breaks) return breaks;
    breaks = settle(points, bestBreaks);
  }
  return breaks;
}

/** Residual of the best continuous line over all points with the given inner breaks. */
function residualWith(points: PointSums, breaks: readonly number[]): number {
  const starts = breaks.map((at) => firstFrom(points.x, at));
  return brokenLineResidual(points, 0, points.count, breaks, starts);
}

/** Returns the same residual computed point by point, exact to all digits. */
export function trueResidual(points: PointSums, breaks: readonly number[]): number {
  const starts = breaks.map((at) => firstFrom(points.x, at));
  return residualPointByPoint(points, breaks, starts);
}

function settle(points: PointSums, start: readonly number[]): readonly number[] {
  const { x, count } = points;
  const breaks = [...start];
  let residual = residualWith(points, breaks);
  const tryAt = (k: number, at: number): number => {
    const before = breaks[k];
    breaks[k] = at;
    const tried = residualWith(points, breaks);
    breaks[k] = before;
    return tried;
  };
  // Accepting a gain within rounding could make two breaks alternate forever. Breaks very close to a point or to each
  // other make lines so steep that their residual is mostly rounding.
  const accept = (k: number, at: number, tried: number): boolean => {
    if (!(tried < residual * (1 - 1e-10)) || !isApart(k, at)) return false;
    residual = tried;
    breaks[k] = at;
    return true;
  };
  const isApart = (k: number, at: number): boolean => {
    const i = firstFrom(x, at);
    const least = x[i] === at ? 0 : apart * (x[i] - x[i - 1]);
    const isFar = (other: number): boolean => Math.abs(at - other) >= least;
    return (
      isFar(x[i]) &&
      (least === 0 || isFar(x[i - 1])) &&
      (k === 0 || isFar(breaks[k - 1])) &&
      (k + 1 === breaks.length || isFar(breaks[k + 1]))
    );
  };
  for (let moved = true; moved; ) {
    moved = false;
    for (let k = 0; k < breaks.length; k++) {
      const low = k === 0 ? x[0] : breaks[k - 1];
      const high = k + 1 < breaks.length ? breaks[k + 1] : x[count - 1];
      for (let i = firstFrom(x, low); i < count && x[i] < high; i++)
        if (x[i] > low) moved = accept(k, x[i], tryAt(k, x[i])) || moved;
      const i = firstFrom(x, breaks[k]);
      for (const [from, to] of [
        [Math.max(low, x[Math.max(0, i - 1)]), breaks[k]],
        [breaks[k], Math.min(high, x[Math.min(count - 1, x[i] > breaks[k] ? i : i + 1)])],
      ]) {
        if (!(to > from)) continue;
        const at = minimum((value) => tryAt(k, value), from, to);
        if (at > low && at < high) moved = accept(k, at, tryAt(k, at)) || moved;
      }
    }
  }
  return breaks;
}

/** Golden-section search for the minimum of `f` between `low` and `high`. */
function minimum(f: (at: number) => number, low: number, high: number): number {
  let a = high - kept * (high - low);
  let b = low + kept * (high - low);
  let fa = f(a);
  let fb = f(b);
  for (let round = 0; round < 50; round++) {
    if (fa <= fb) {
      high = b;
      b = a;
      fb = fa;
      a = high - kept * (high - low);
      fa = f(a);
    } else {
      low = a;
      a = b;
      fa = fb;
      b = low + kept * (high - low);
      fb = f(b);
    }
  }
  return (low + high) / 2;
}

/** Index of the first item of `sorted` that is at least `value`. */
function firstFrom(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
