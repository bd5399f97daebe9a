import { RematError } from "@remat/trace";
import { describeLeaks } from "./describe-leaks.js";
import { growing, type LeakReport } from "./leak-report.js";
import { LeakWatch } from "./leak-watch.js";

/** Options of {@link findLeaks} and {@link expectNoLeaks}. */
export interface LeakRuns {
  /** How often the function runs after one warm-up run: 4 or more, 5 by default. */
  readonly runs?: number;
}

const fewestRuns = 4;

/**
 * Runs `fn` several times and reports the tensors that each run leaves behind. Tensors of other work in the process at
 * the same time are counted as well.
 *
 * @throws RematError `LEAK_RUNS` if the runs are too few to detect growth
 * @example
 * const report = await findLeaks(() => model.predict(x)); // growing(report)[0].line
 */
export async function findLeaks(fn: () => unknown, { runs = 5 }: LeakRuns = {}): Promise<LeakReport> {
  if (!Number.isInteger(runs) || runs < fewestRuns)
    throw new RematError(
      "LEAK_RUNS",
      `runs: expected a whole number of at least ${fewestRuns}, found ${runs}. Leak detection compares three runs after a warm-up. Raise runs, or leave it out.`,
    );
  const watch = new LeakWatch({ findsPeriods: false });
  try {
    for (let run = 0; run <= runs; run++) {
      await fn();
      watch.endPeriod("run");
    }
    return watch.report();
  } finally {
    watch.close();
  }
}

/**
 * Runs `fn` several times and fails if each run leaves tensors behind. The error names the lines that make them.
 *
 * @throws RematError `TENSORS_LEAK`, with lines, counts and fixes
 * @example
 * await expectNoLeaks(() => tf.tidy(() => model.predict(x).dataSync()), { runs: 5 });
 */
export async function expectNoLeaks(fn: () => unknown, options: LeakRuns = {}): Promise<void> {
  const report = await findLeaks(fn, options);
  if (growing(report).length > 0) throw new RematError("TENSORS_LEAK", describeLeaks(report).join("\n"));
}

/** Result of a matcher, as `expect` of vitest and jest requires it. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * Matchers for `expect.extend` of vitest and jest.
 *
 * @example
 * expect.extend(leakMatchers);
 * await expect(() => step()).not.toLeakTensors();
 */
export const leakMatchers: {
  /** Passes if each run of the function leaves tensors behind. */
  toLeakTensors(fn: () => unknown, options?: LeakRuns): Promise<MatcherResult>;
} = {
  async toLeakTensors(fn, options) {
    const report = await findLeaks(fn, options);
    return { pass: growing(report).length > 0, message: () => describeLeaks(report).join("\n") };
  },
};
