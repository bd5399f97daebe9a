import type { Golden } from "@remat/testkit";
import { fitWithBreaks } from "../src/fit/least-squares.js";
import { fitPiecewiseLinear } from "../src/index.js";
import type { SacResults } from "./sac-golden-types.js";

/** Room for rounding in a sum of squares whose terms are about 1. */
const rounding = 1e-20;

interface PwlfInstance {
  readonly from: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly n_segments: number;
  readonly fits: readonly {
    readonly ssr: number;
    readonly fit_breaks: readonly number[];
    readonly slopes: readonly number[];
    readonly intercepts: readonly number[];
  }[];
  readonly grid_optimum?: { readonly ssr: number; readonly break: number };
}

/** A `pwlf-oracle/1` file against our fits: none of ours may be further from the points than any of pwlf's, or than the best of a dense grid. */
export function comparePwlfGolden(golden: Golden): string | undefined {
  for (const [i, instance] of (golden["instances"] as readonly PwlfInstance[]).entries()) {
    const name = `instance ${i} (${instance.from}, ${instance.n_segments} segments)`;
    for (const fit of instance.fits) {
      if (fit.slopes.length !== instance.n_segments)
        return `${name}: ${instance.n_segments} segments, ${fit.slopes.length} slopes`;
      const difference = givenFitDifference(name, { ...fit, x: instance.x, y: instance.y });
      if (difference !== undefined) return difference;
    }
    const theirs = instance.fits.map(({ ssr }) => ssr);
    if (instance.grid_optimum !== undefined) theirs.push(instance.grid_optimum.ssr);
    const difference = fitDifference(name, instance.x, instance.y, instance.n_segments, theirs);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** How many of the fits in a `pwlf-oracle/1` file, or of a `sac-oracle/1` file's trade-offs, ours are nearer to the points than, and by how much. */
export function fitAdvantage(golden: Golden): string | undefined {
  const fits: { x: readonly number[]; y: readonly number[]; segments: number; ssr: number }[] =
    golden.schema === "pwlf-oracle/1"
      ? (golden["instances"] as readonly PwlfInstance[]).flatMap(({ x, y, n_segments: segments, fits: all }) =>
          all.map(({ ssr }) => ({ x, y, segments, ssr })),
        )
      : Object.values((golden as Golden & { results: SacResults }).results.tradeoff_n_segments_2).flatMap((one) =>
          "error" in one ? [] : [{ x: one.fit_x, y: one.fit_y, segments: one.n_segments, ssr: one.fit_ssr }],
        );
  let count = 0;
  let most = 0;
  for (const { x, y, segments, ssr } of fits) {
    const share = 1 - fitPiecewiseLinear(x, y, segments).residualSumOfSquares / ssr;
    if (!(ssr > 1e-14 && share > 1e-6)) continue;
    count++;
    most = Math.max(most, share);
  }
  return count === 0
    ? undefined
    : `${count} of ${fits.length} fits have a smaller residual, by up to ${(100 * most).toFixed(1)} %`;
}

/** Fits the points ourselves; a difference if the residual is above any of `theirs`, or is not that of the line we return. */
export function fitDifference(
  name: string,
  x: readonly number[],
  y: readonly number[],
  segments: number,
  theirs: readonly number[],
): string | undefined {
  const ours = fitPiecewiseLinear(x, y, segments);
  const residual = residualOf({ ...ours, fitBreaks: ours.breaks }, x, y);
  if (Math.abs(residual - ours.residualSumOfSquares) > 1e-12 * residual + rounding)
    return `${name}: our residual ${ours.residualSumOfSquares}, of our line ${residual}`;
  if (ours.slopes.length !== segments) return `${name}: ${segments} segments, ours ${ours.slopes.length}`;
  for (const [k, slope] of ours.slopes.slice(1).entries()) {
    const [at, before] = [ours.breaks[k + 1], ours.slopes[k] * ours.breaks[k + 1] + ours.intercepts[k]];
    const after = slope * at + ours.intercepts[k + 1];
    if (Math.abs(after - before) > 1e-9 * (1 + Math.abs(before)))
      return `${name}: our line jumps from ${before} to ${after} at ${at}`;
  }
  const best = Math.min(...theirs);
  return residual <= best * (1 + 1e-9) + rounding ? undefined : `${name}: residual ${best}, ours ${residual}`;
}

/**
 * pwlf's line and residual must be the least-squares solution for pwlf's own breaks; otherwise a number of the golden
 * is wrong. If pwlf solves them less accurately than remat, its residual must be that of its own line.
 */
export function givenFitDifference(
  name: string,
  fit: {
    readonly x: readonly number[];
    readonly y: readonly number[];
    readonly fit_breaks: readonly number[];
    readonly slopes: readonly (number | "nan")[];
    readonly intercepts: readonly (number | "nan")[];
    readonly ssr: number;
  },
): string | undefined {
  const line = fitWithBreaks(Float64Array.from(fit.x), Float64Array.from(fit.y), fit.fit_breaks);
  const [first, last] = [Math.min(...fit.x), Math.max(...fit.x)];
  if (fit.fit_breaks[0] !== first || fit.fit_breaks.at(-1) !== last)
    return `${name}: breaks from ${fit.fit_breaks[0]} to ${fit.fit_breaks.at(-1)}, ours from ${first} to ${last}`;
  const room = 1e-8 * fit.ssr + 1e-14;
  const { slopes, intercepts, fit_breaks: fitBreaks } = fit as typeof fit & { slopes: number[]; intercepts: number[] };
  if (line.residualSumOfSquares < fit.ssr - room)
    return Math.abs(residualOf({ slopes, intercepts, fitBreaks }, fit.x, fit.y) - fit.ssr) <= room
      ? undefined
      : `${name}: ssr ${fit.ssr} is not that of its line`;
  if (line.residualSumOfSquares > fit.ssr + room)
    return `${name}: ssr ${fit.ssr}, with the same breaks ours ${line.residualSumOfSquares}`;
  for (const field of ["slopes", "intercepts"] as const)
    for (const [k, value] of fit[field].entries()) {
      // One point has no slope: upstream's is NaN.
      if (value === "nan") continue;
      if (Math.abs(value - line[field][k]) > 1e-7 * Math.abs(value) + 1e-9)
        return `${name}: ${field}[${k}] ${value}, with the same breaks ours ${line[field][k]}`;
    }
  return undefined;
}

/** Sum of squared differences between a broken line and points. */
export function residualOf(
  line: {
    readonly slopes: readonly number[];
    readonly intercepts: readonly number[];
    readonly fitBreaks: readonly number[];
  },
  x: ArrayLike<number>,
  y: ArrayLike<number>,
): number {
  let residual = 0;
  for (let i = 0; i < x.length; i++) {
    let k = 0;
    while (k + 1 < line.slopes.length && x[i] > line.fitBreaks[k + 1]) k++;
    residual += (y[i] - line.slopes[k] * x[i] - line.intercepts[k]) ** 2;
  }
  return residual;
}
