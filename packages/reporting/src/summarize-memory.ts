import {
  heldPeak,
  type MemoryMoment,
  type MemoryTimeline,
  type MomentPlace,
  memoryTimeline,
  momentAt,
} from "@remat/memory";
import {
  type AllocatorSettings,
  parseAllocatorSettings,
  type ReservedMemory,
  reservedMemory,
} from "@remat/memory/reserved";
import { type MemTracker, trackMemory } from "@remat/memory/tracker";
import { FSDPMemTracker, type FsdpSimulation, hasFsdpHooks } from "@remat/sharding";
import { RematError, type Trace, traceNotes } from "@remat/trace";

/** What is held, when, in which category, and who put it there. */
export interface MemorySummary {
  /** What is summed up: the trace given, or the simulated run of one rank. */
  readonly trace: Trace;
  readonly tracker: MemTracker | FSDPMemTracker;
  /** The moment asked for. */
  readonly moment: MemoryMoment;
  /** How that moment is called: `peak`, `after op 12`. */
  readonly place: string;
  readonly peakBytes: number;
  readonly timeline: MemoryTimeline;
  readonly notes: readonly string[];
  readonly simulation: FsdpSimulation | undefined;
  /** What PyTorch's caching allocator reserves for it, where that was asked for, or the trace is of what one saw. */
  readonly reserved: ReservedMemory | undefined;
  /** Beside that, what one really held. */
  readonly measured: MeasuredMemory | undefined;
}

/** What PyTorch's caching allocator really gave out and reserved at most, in bytes. */
export interface MeasuredMemory {
  readonly allocatedPeakBytes: number;
  readonly reservedPeakBytes: number;
}

export interface SummarizeMemoryOptions {
  /** Which moment to explain; left out: the peak. */
  readonly at?: "peak" | MomentPlace | undefined;
  /** How many storages to list; 10 if not given. */
  readonly limit?: number | undefined;
  /** One rank of this sharded run instead of the run itself. */
  readonly simulation?: FsdpSimulation | undefined;
  /** Also what PyTorch's caching allocator of CUDA reserves with these settings. */
  readonly allocator?: AllocatorSettings | undefined;
  /** What such an allocator saw of the same step, to be shown beside it. */
  readonly snapshot?: Trace | undefined;
  /** Accept a trace without a backward pass. */
  readonly forwardOnly?: boolean | undefined;
}

/**
 * Returns what a run holds at its peak or another moment, by category, with the largest storages and who made them.
 *
 * @throws RematError as `trackMemory` and `momentAt` do
 * @example
 * const summary = summarizeMemory(trace, { at: "peak" });
 * summary.moment.largest[0].maker?.module;
 */
export function summarizeMemory(trace: Trace, options: SummarizeMemoryOptions = {}): MemorySummary {
  const { simulation } = options;
  const shown = simulation?.trace ?? trace;
  const tracker = simulation?.tracker ?? trackRun(trace, options.forwardOnly ?? false);
  const limit = options.limit ?? 10;
  const at = options.at ?? "peak";
  const moment = at === "peak" ? tracker.peakMoment({ limit }) : momentAt(shown, at, { limit });
  const told =
    options.allocator === undefined ? settingsOf(options.snapshot ?? trace) : { settings: options.allocator };
  return {
    trace: shown,
    tracker,
    moment,
    place:
      at === "peak"
        ? "peak"
        : "op" in at
          ? `after op ${at.op}`
          : "event" in at
            ? `after event ${at.event}`
            : `at mark ${at.mark}`,
    peakBytes: tracker.peakBytes(),
    timeline: memoryTimeline(shown),
    notes: [...traceNotes(shown), ...(told?.notes ?? [])],
    simulation,
    reserved: told && reservedMemory(shown, told.settings),
    measured: measuredBy(options.snapshot ?? trace),
  };
}

/** A run under FSDP is looked at as it was: around FSDP's hooks, and by shards and gathered weights. */
function trackRun(trace: Trace, forwardOnly: boolean): MemTracker | FSDPMemTracker {
  const tracker = trackMemory(trace, { forwardOnly });
  return hasFsdpHooks(trace) ? new FSDPMemTracker({ secondIteration: "reset" }).update(trace) : tracker;
}

/** Those that the allocator had which saw a run; of newer releases' it may not be known what they do. */
function settingsOf({ header }: Trace): { settings?: AllocatorSettings; notes?: readonly string[] } | undefined {
  if (header.allocator === undefined) return undefined;
  try {
    return { settings: parseAllocatorSettings(header.allocator.settings) };
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return { notes: [`reserved memory is predicted without the allocator's settings: ${error.message}`] };
  }
}

function measuredBy(trace: Trace): MeasuredMemory | undefined {
  const { allocator } = trace.header;
  return allocator && { allocatedPeakBytes: heldPeak(trace).peakBytes, reservedPeakBytes: allocator.reservedPeakBytes };
}
