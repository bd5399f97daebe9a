import type { Trace } from "@remat/trace";

/** A recording in progress that returns the trace so far, such as a `TraceRecorder` of `@remat/tracer`. */
export interface TraceSource {
  /** Returns the trace so far. */
  trace(): Trace;
  /**
   * Records the memory of a layer, an optimizer or a tensor that was created outside of the run, under its category.
   *
   * @throws RematError `ARGUMENT` for anything else
   */
  trackExternal?(external: object): void;
}

/** Options for trackers. */
export interface TrackerOptions {
  /**
   * The reaction if the outermost module is called a second time without a reset of the statistics by module. `refuse`
   * throws an error, like PyTorch's tracker. `reset` resets the statistics, so that the last iteration is shown.
   */
  readonly secondIteration?: "refuse" | "reset";
}
