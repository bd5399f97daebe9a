import { withOptimizer } from "@remat/sharding";
import { itemAt, RematError } from "@remat/trace";
import { batchOfRun, type RecordedRun, stepsOfRuns } from "../recorded-steps.js";
import type { StepsToFit } from "../steps-to-fit.js";

/**
 * Returns the steps of recorded runs. If the runs are one step at two or more batches, these are the steps of
 * `stepsOfRuns`. Otherwise, only the first run is available as recorded, and other batches throw an error with the
 * reason.
 */
export function stepsAtHand(runs: readonly RecordedRun[]): StepsToFit {
  try {
    return stepsOfRuns(runs);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    const { name, trace } = itemAt(runs, 0);
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
