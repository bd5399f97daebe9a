import { median } from "../../src/measure.js";

/** What of a run is measured, each by itself. */
const figures = /** @type {const} */ (["stepMs", "firstStepMs", "residentBytes", "pauseMs", "garbageBytes"]);

/**
 * Returns one run of several of a program in one way: of each figure the median. If one has died, or has other weights than the first, it is that one.
 *
 * @param {readonly any[]} runs
 */
export function medianRun(runs) {
  const odd = runs.find(({ weights }) => weights === undefined || weights !== runs[0].weights);
  if (odd !== undefined) return odd;
  return {
    ...runs[0],
    ...Object.fromEntries(figures.map((figure) => [figure, median(runs.map((run) => run[figure]))])),
  };
}
