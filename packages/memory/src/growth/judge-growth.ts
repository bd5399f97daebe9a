/** What a series says: it grows period for period, it has stopped growing (or never did), or it has too few periods to say. */
export type GrowthVerdict = "growing" | "steady" | "too short";

/** How a quantity has changed over the periods after a warm-up. */
export interface SeriesGrowth {
  readonly verdict: GrowthVerdict;
  /** Mean growth per sample over the periods that were judged; 0 unless it grows. */
  readonly perSample: number;
  /** How many samples were judged, the warm-up left out. */
  readonly judged: number;
}

/** Growth is told from what a program makes once by at least so many differences. */
const fewestDifferences = 3;

/**
 * Judges a quantity by what it was at the end of each period, oldest first, and what it is now. The first quarter, at least one period, is warm-up.
 * What is given back later counts as not held (a running minimum from the end), so a buffer that is emptied now and then does not grow. It grows where this
 * floor rises in each third of what is left, has not stayed level for twice as long as between any two rises, and what there is now is more than the first period left by a
 * quarter of the growth.
 *
 * @example
 * judgeGrowth([3, 4, 5, 6, 7], 7).verdict; // "growing"
 * judgeGrowth([1, 2, 3, 4, 4, 4, 4, 4], 4).verdict; // "steady": a buffer that is full
 */
export function judgeGrowth(samples: readonly number[], now: number): SeriesGrowth {
  const floor = samples.slice(Math.max(1, samples.length >> 2));
  const differences = floor.length - 1;
  const judged = Math.max(0, differences);
  if (differences < fewestDifferences) return { verdict: "too short", perSample: 0, judged };
  for (let i = differences, least = floor[i]; i >= 0; i--) floor[i] = least = Math.min(least, floor[i]);
  const rises: number[] = [];
  for (let i = 1; i < floor.length; i++) if (floor[i] > floor[i - 1]) rises.push(i - 1);
  const thirds = new Set(rises.map((at) => Math.floor((3 * at) / differences)));
  const longest = rises.reduce((most, at, i) => Math.max(most, at - (i === 0 ? -1 : rises[i - 1])), 0);
  const level = differences - 1 - (rises.at(-1) ?? -1);
  const grown = floor[differences] - floor[0];
  const isGivenBack = now <= Math.min(samples[0], floor[0]) + grown / 4;
  if (thirds.size < 3 || level > 2 * longest || isGivenBack) return { verdict: "steady", perSample: 0, judged };
  return { verdict: "growing", perSample: grown / differences, judged };
}
