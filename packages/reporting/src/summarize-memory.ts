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

/** Memory in use over a run, by category and allocation site. */
export interface MemorySummary {
  /** The summarized trace: the given trace, or the simulated run of one rank. */
  readonly trace: Trace;
  readonly tracker: MemTracker | FSDPMemTracker;
  /** The requested moment. */
  readonly moment: MemoryMoment;
  /** Name of that moment: `peak`, `after op 12`. */
  readonly place: string;
  readonly peakBytes: number;
  readonly timeline: MemoryTimeline;
  readonly notes: readonly string[];
  readonly simulation: FsdpSimulation | undefined;
  /**
   * Memory that PyTorch's caching allocator reserves. Defined if it was requested, or if the trace comes from such an
   * allocator.
   */
  readonly reserved: ReservedMemory | undefined;
  /** Measured memory of the same step, for comparison. */
  readonly measured: MeasuredMemory | undefined;
}

/** Peak bytes that PyTorch's caching allocator actually allocated and reserved. */
export interface MeasuredMemory {
  /** Peak of the bytes in tensors. */
  readonly allocatedPeakBytes: number;
  /** Peak of the bytes that the allocator took from the device. */
  readonly reservedPeakBytes: number;
}

/** Options of {@link summarizeMemory}. */
export interface SummarizeMemoryOptions {
  /** The moment to explain. Default: the peak. */
  readonly at?: "peak" | MomentPlace | undefined;
  /** How many storages to list (10 by default). */
  readonly limit?: number | undefined;
  /** Summarizes one rank of this sharded run instead of the run itself. */
  readonly simulation?: FsdpSimulation | undefined;
  /** If given, also simulates the memory that PyTorch's CUDA caching allocator reserves with these settings. */
  readonly allocator?: AllocatorSettings | undefined;
  /** An allocator snapshot of the same step, to be shown for comparison. */
  readonly snapshot?: Trace | undefined;
  /** True to accept a trace without a backward pass. */
  readonly forwardOnly?: boolean | undefined;
}

/**
 * Summarizes the memory of a run at its peak or another moment, by category, with the largest storages and their
 * allocation sites.
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

/** Returns the tracker for a run. A run recorded under FSDP gets FSDP's tracker, with shards and unsharded weights. */
function trackRun(trace: Trace, forwardOnly: boolean): MemTracker | FSDPMemTracker {
  const tracker = trackMemory(trace, { forwardOnly });
  return hasFsdpHooks(trace) ? new FSDPMemTracker({ secondIteration: "reset" }).update(trace) : tracker;
}

/**
 * Returns the settings of the allocator with which the run was recorded. Settings of newer PyTorch releases may have
 * unknown effects.
 */
function settingsOf({ header }: Trace): { settings?: AllocatorSettings; notes?: readonly string[] } | undefined {
  if (header.allocator === undefined) return undefined;
  try {
    return { settings: parseAllocatorSettings(header.allocator.settings) };
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return { notes: [`reserved memory is predicted with default settings: ${error.message}`] };
  }
}

function measuredBy(trace: Trace): MeasuredMemory | undefined {
  const { allocator } = trace.header;
  return allocator && { allocatedPeakBytes: heldPeak(trace).peakBytes, reservedPeakBytes: allocator.reservedPeakBytes };
}
