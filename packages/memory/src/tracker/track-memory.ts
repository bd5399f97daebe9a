import { Phase, RematError, type Trace } from "@remat/trace";
import { countLifetimes } from "../index.js";
import { MemTracker } from "./mem-tracker.js";
import type { TraceSource, TrackerOptions } from "./tracker-options.js";

/** Options for {@link trackMemory}. */
export interface TrackMemoryOptions extends TrackerOptions {
  /** Accepts a trace without a backward pass, such as one of inference. */
  readonly forwardOnly?: boolean;
}

/**
 * Returns the memory of a finished run as a {@link MemTracker} that has processed `trace`, after checking that the
 * trace has the necessary information. With several iterations, the statistics by module are those of the last one.
 *
 * @throws RematError `TRACE_NO_LIFETIMES`, `TRACE_NO_BACKWARD`, `TRACE_EVENT_ORDER`
 * @example
 * const tracker = trackMemory(await readTrace(file));
 * console.log(tracker.displayModulewiseSnapshots(3, "MiB"));
 */
export function trackMemory(trace: Trace, options: TrackMemoryOptions = {}): MemTracker {
  requireMemoryTrace(trace, options);
  return new MemTracker({ secondIteration: "reset", ...options }).update(trace);
}

/**
 * Returns the memory of a run while it is still running: a {@link MemTracker} whose answers are for the current moment.
 * At the end, the answers are those of {@link trackMemory} for the finished trace. With several iterations, the
 * statistics by module are those of the current one.
 *
 * @param source a `TraceRecorder` of `@remat/tracer`, or another source that returns the trace so far
 * @throws RematError `TRACE_EVENT_ORDER`, at a query
 * @example
 * const recorder = new TraceRecorder();
 * const memory = trackLive(recorder);
 * const modules = new ModTracker({ recorder });
 * modules.track(model);
 * modules.registerUserHooks({ postForward: ({ fqn }) => console.log(fqn, memory.snapshot()) });
 * await modules.run(() => model.fit(x, y));
 * console.log(memory.displaySnapshot("peak", "MiB", true));
 */
export function trackLive(source: TraceSource, options: TrackerOptions = {}): MemTracker {
  return new MemTracker({ secondIteration: "reset", ...options }).follow(source);
}

/**
 * Checks that a trace can show the memory in use. It fails if the trace frees nothing. It also fails without a backward
 * pass, unless the trace breaks off or `forwardOnly` is set.
 *
 * @throws RematError `TRACE_NO_LIFETIMES`, `TRACE_NO_BACKWARD`
 */
export function requireMemoryTrace(trace: Trace, options: { readonly forwardOnly?: boolean } = {}): void {
  const { allocations, frees } = countLifetimes(trace);
  // A run that ran out of memory has only the events up to that point.
  if (trace.truncated !== undefined || trace.header.failure !== undefined) return;
  if (frees === 0)
    throw new RematError(
      "TRACE_NO_LIFETIMES",
      `the trace has no lifetimes: it has ${allocations} allocations but no frees. Record it with a memory tracker, or with remat's recorder for PyTorch.`,
    );
  if (!trace.hasPhase(Phase.backward) && options.forwardOnly !== true)
    throw new RematError(
      "TRACE_NO_BACKWARD",
      `the trace has ${trace.ops.count} ops but no backward pass. Trace the step with its loss and gradients, or pass { forwardOnly: true }.`,
    );
}
