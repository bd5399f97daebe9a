import { Phase, RematError, type Trace } from "@remat/trace";
import { countLifetimes } from "../index.js";
import { MemTracker } from "./mem-tracker.js";
import type { TraceSource, TrackerOptions } from "./tracker-options.js";

export interface TrackMemoryOptions extends TrackerOptions {
  /** Accept a trace without a backward pass, e.g. of inference. */
  readonly forwardOnly?: boolean;
}

/**
 * Returns the memory of a finished run: a {@link MemTracker} that has taken in `trace`, after a check that the trace can answer. With several
 * iterations the statistics by module are of the last one.
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
 * Returns the memory of a run while it goes on: a {@link MemTracker} that answers every question for the moment at which it is asked, and at the end
 * as {@link trackMemory} does from the finished trace. With several iterations the statistics by module are of the one that runs.
 *
 * @param source a `TraceRecorder` of `@remat/tracer`, or any other that gives the trace so far
 * @throws RematError `TRACE_EVENT_ORDER`, when a question is asked
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
 * Refuses a trace that cannot say what memory is held: one in which nothing is freed, or, unless it breaks off or is allowed to, one without
 * a backward pass.
 *
 * @throws RematError `TRACE_NO_LIFETIMES`, `TRACE_NO_BACKWARD`
 */
export function requireMemoryTrace(trace: Trace, options: { readonly forwardOnly?: boolean } = {}): void {
  const { allocations, frees } = countLifetimes(trace);
  // One whose run had no memory left is as far as that went.
  if (trace.truncated !== undefined || trace.header.failure !== undefined) return;
  if (frees === 0)
    throw new RematError(
      "TRACE_NO_LIFETIMES",
      `the trace says nothing about lifetimes: found ${allocations} allocations and no free, expected both. Record it with a memory tracker attached, or with the memory exporter of PyTorch.`,
    );
  if (!trace.hasPhase(Phase.backward) && options.forwardOnly !== true)
    throw new RematError(
      "TRACE_NO_BACKWARD",
      `the trace has no backward pass: found ${trace.ops.count} ops of other phases, expected a training step. Trace the step with its loss and gradients, or pass { forwardOnly: true }.`,
    );
}
