import { withOptimizer } from "@remat/sharding";
import { RematError } from "@remat/trace";
import { batchOfRun, type RecordedRun, stepsOfRuns } from "../recorded-steps.js";
import type { StepsToFit } from "../steps-to-fit.js";

/**
 * Returns what recorded runs tell of the step of the first: as `stepsOfRuns` where they are one step at two batches or more; else of the first as it was recorded, and why of no other
 * batch.
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
