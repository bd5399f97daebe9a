import { atNight } from "./at-night.js";

/**
 * Returns how many cases a property with slow cases checks: a third of those that are checked at night, so that each
 * change runs a sample.
 */
export function dailyRuns(nightly: number): number {
  return atNight ? nightly : Math.ceil(nightly / 3);
}
