import type { Trace } from "@remat/trace";

/** Where a run is being recorded: gives the trace so far, as `TraceRecorder` of `@remat/tracer` does. */
export interface TraceSource {
  trace(): Trace;
}

export interface TrackerOptions {
  /**
   * What to do when the outermost module is called a second time and module statistics were not reset: `refuse`, as upstream does, or
   * `reset` them, so that what is shown is of the last iteration.
   */
  readonly secondIteration?: "refuse" | "reset";
}
