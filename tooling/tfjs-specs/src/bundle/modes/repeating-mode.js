import { getBackend } from "@tensorflow/tfjs-core";

/** Excludes backends that specs define. */
const withExecutor = new Set(["cpu", "tensorflow", "webgl", "webgpu"]);

/**
 * A mode that runs specs several times, differently each time. The last outcome counts.
 * - `run` runs one spec,
 * - `again` returns the jasmine ids of specs to run again after all have run,
 * - `work` returns the amount of work done.
 */
export class RepeatingMode {
  /** Jasmine's id of the running spec. */
  spec;

  specStarted(id) {
    this.spec = id;
  }

  /** Budgets and plans are rejected before there is a backend, and on backends whose data cannot be evicted. */
  around(spec) {
    return withExecutor.has(getBackend()) ? this.run(spec) : spec();
  }
}
