import type { Trace } from "@remat/trace";

/** Where a run is being recorded: gives the trace so far, as `TraceRecorder` of `@remat/tracer` does. */
export interface TraceSource {
  trace(): Trace;
  /**
   * Records what a layer, an optimizer or a tensor made outside of the run keeps, under its category.
   *
   * @throws RematError `ARGUMENT` for anything else
   */
  trackExternal?(external: object): void;
}

export interface TrackerOptions {
  /**
   * What to do when the outermost module is called a second time and module statistics were not reset: `refuse`, as upstream does, or
   * `reset` them, so that what is shown is of the last iteration.
   */
  readonly secondIteration?: "refuse" | "reset";
}
