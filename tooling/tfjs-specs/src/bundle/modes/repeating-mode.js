import { getBackend } from "@tensorflow/tfjs-core";

/** Not the backends that specs make up. */
const withExecutor = new Set(["cpu", "tensorflow", "webgl", "webgpu"]);

/**
 * A mode that runs specs several times, in another way each time; what came of the last time counts.
 *
 * - `run` runs one spec,
 * - `again` tells, by jasmine's ids, which to run once more when all have run,
 * - `work` how much there was to do.
 */
export class RepeatingMode {
  /** Jasmine's id of the spec that runs. */
  spec;

  specStarted(id) {
    this.spec = id;
  }

  /** Budgets and plans are refused before there is a backend, and on backends whose data cannot go. */
  around(spec) {
    return withExecutor.has(getBackend()) ? this.run(spec) : spec();
  }
}
