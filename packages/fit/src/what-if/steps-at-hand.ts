import { withOptimizer } from "@remat/sharding";
import { RematError } from "@remat/trace";
import { batchOfRun, type RecordedRun, stepsOfRuns } from "../recorded-steps.js";
import type { StepsToFit } from "../steps-to-fit.js";

/**
 * Returns the steps of recorded runs. If they are one step at two batches or more, these are the steps of
 * `stepsOfRuns`. Otherwise it is the first run as recorded, and other batches throw the reason.
 */
export function stepsAtHand(runs: readonly RecordedRun[]): StepsToFit {
  try {
    return stepsOfRuns(runs);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    const [{ name, trace }] = runs;
    const own = batchOfRun(trace);
    return {
      name: trace.header.model ?? name,
      framework: trace.header.framework,
      recordedBatches: [own ?? 0],
      async stepAt(batch, optimizer) {
        if (batch !== own) throw error;
        return optimizer === undefined ? trace : withOptimizer(trace, optimizer);
      },
    };
  }
}
