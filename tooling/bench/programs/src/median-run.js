import { median } from "../../src/measure.js";

/** Figures of a run, each measured by itself. */
const figures = /** @type {const} */ (["stepMs", "firstStepMs", "residentBytes", "pauseMs", "garbageBytes"]);

/**
 * Returns a combined run of a program under one strategy: the median of each figure. If a run died or has different
 * weights from the first, returns that run.
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
