import { type MemTracker, trackMemory } from "@remat/mem-tracker";
import { type FSDPMemTracker, type FsdpSimulation, type ShardingPlan, simulateFsdp } from "@remat/mem-tracker/fsdp";
import { type MemoryMoment, type MemoryTimeline, type MomentPlace, memoryTimeline, momentAt } from "@remat/memory";
import { type Trace, traceNotes } from "@remat/trace";

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
}

export interface SummarizeMemoryOptions {
  /** Which moment to explain; left out: the peak. */
  readonly at?: "peak" | MomentPlace;
  /** How many storages to list; 10 if not given. */
  readonly limit?: number;
  /** Predict one rank of this many instead of the run itself. */
  readonly sharding?: ShardingPlan;
  /** Accept a trace without a backward pass. */
  readonly forwardOnly?: boolean;
}

/**
 * Returns what a run holds at its peak or another moment, by category, with the largest storages and who made them.
 *
 * @throws RematError as `trackMemory`, `momentAt` and `simulateFsdp` do
 * @example
 * const summary = summarizeMemory(trace, { at: "peak" });
 * summary.moment.largest[0].maker?.module;
 */
export function summarizeMemory(trace: Trace, options: SummarizeMemoryOptions = {}): MemorySummary {
  const simulation = options.sharding === undefined ? undefined : simulateFsdp(trace, options.sharding);
  const shown = simulation?.trace ?? trace;
  const tracker = simulation?.tracker ?? trackMemory(trace, { forwardOnly: options.forwardOnly ?? false });
  const limit = options.limit ?? 10;
  const at = options.at ?? "peak";
  const moment = at === "peak" ? tracker.peakMoment({ limit }) : momentAt(shown, at, { limit });
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
    notes: traceNotes(shown),
    simulation,
  };
}
