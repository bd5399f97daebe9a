import type { Trace } from "@remat/trace";
import { type HeldPeak, heldPeak } from "../held/held-memory.js";
import { type HeldStorages, storagesAtPeak } from "../held/held-storages.js";
import { type IdleMemory, idleAtPeak } from "../held/idle-at-peak.js";
import { sequenceGraphOfTrace, type TraceSequenceGraph } from "./sequence-graph-of-trace.js";
import { unrecomputedPeakBytes } from "./unrecomputed-peak.js";

/** Facts about a step that its trace alone does not contain. */
export interface StepContext {
  /** The trace of the step that plans are made for. Default: the recorded trace. */
  readonly planned?: Trace | undefined;
  /**
   * Peak memory with early release, in bytes (`predictReleasedPeak` of `@remat/checkpoint`). Left out if unknown, since
   * it can only be found with the model.
   */
  readonly earlyReleasePeakBytes?: number | undefined;
}

/**
 * Facts about the memory of one step. Each fact is computed when it is first read, and then kept. Create one object per
 * step, and pass it to all functions that need facts about the step.
 *
 * @throws RematError `TRACE_EVENT_ORDER` when a fact is read
 * @example
 * const facts = new StepFacts(trace);
 * facts.peak.peakBytes - facts.unrecomputedPeakBytes; // what a plan without recomputation saves
 * facts.storagesAtPeak.count; // the peak is not computed again
 */
export class StepFacts {
  readonly trace: Trace;
  /** The trace of the step that plans are made for. */
  readonly planned: Trace;
  /** Peak memory with early release, in bytes, if known. */
  readonly earlyReleasePeakBytes: number | undefined;
  private heldPeak: HeldPeak | undefined;
  private held: HeldStorages | undefined;
  private idleMemory: IdleMemory | undefined;
  private graph: TraceSequenceGraph | undefined;
  private unrecomputed: number | undefined;

  constructor(trace: Trace, { planned = trace, earlyReleasePeakBytes }: StepContext = {}) {
    this.trace = trace;
    this.planned = planned;
    this.earlyReleasePeakBytes = earlyReleasePeakBytes;
  }

  /** Returns the facts of a step: the given ones, or new ones for a trace. */
  static of(step: Trace | StepFacts): StepFacts {
    return step instanceof StepFacts ? step : new StepFacts(step);
  }

  /** Peak memory on the device of the trace. */
  get peak(): HeldPeak {
    this.heldPeak ??= heldPeak(this.trace);
    return this.heldPeak;
  }

  /** Every storage that is alive at the peak. */
  get storagesAtPeak(): HeldStorages {
    this.held ??= storagesAtPeak(this.trace, this.peak);
    return this.held;
  }

  /** Memory that is alive at the peak and no longer read. */
  get idle(): IdleMemory {
    this.idleMemory ??= idleAtPeak(this.trace, this.storagesAtPeak);
    return this.idleMemory;
  }

  /** The sequence graph of {@link planned}. */
  get sequenceGraph(): TraceSequenceGraph {
    this.graph ??= sequenceGraphOfTrace(this.planned);
    return this.graph;
  }

  /** Peak memory of {@link planned} under a plan without recomputation, in bytes. */
  get unrecomputedPeakBytes(): number {
    this.unrecomputed ??= unrecomputedPeakBytes(this.planned, this.sequenceGraph);
    return this.unrecomputed;
  }
}
