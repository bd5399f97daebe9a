import { heldPeak } from "@remat/memory";
import { fingerprintOfOps, opOccurrences, type Trace } from "@remat/trace";
import { withMeasuredTimes } from "@remat/tracer";

/** A step as it was recorded. */
export interface StepRecord {
  readonly trace: Trace;
  readonly opMs: Float64Array;
  readonly stepMs: number;
}

/** Steps that ran the same ops. */
interface Kind {
  trace: Trace;
  readonly opMs: Float64Array[];
  readonly stepMs: number[];
}

/** The recorded steps of one optimizer over the same weights, and what stands for them all. */
export class StepGroup {
  steps = 0;
  isWritten = false;
  private readonly kinds = new Map<string, Kind>();

  add({ trace, opMs, stepMs }: StepRecord): void {
    this.steps++;
    const fingerprint = fingerprintOfOps(opOccurrences(trace));
    const kind = this.kinds.get(fingerprint) ?? { trace, opMs: [], stepMs: [] };
    // The newest goes to the end.
    this.kinds.delete(fingerprint);
    this.kinds.set(fingerprint, kind);
    kind.trace = trace;
    kind.opMs.push(opMs);
    kind.stepMs.push(stepMs);
  }

  /** The newest of the kind of step that came most often (the first makes the optimizer's slots, the last of an epoch may have a smaller batch), with median times. */
  summarize(): { readonly trace: Trace; readonly alike: number; readonly peakBytes: number; readonly stepMs: number } {
    const kinds = [...this.kinds.values()].reverse();
    const kind = kinds.reduce((most, other) => (other.opMs.length > most.opMs.length ? other : most));
    const trace = withMeasuredTimes(kind.trace, kind.opMs);
    const stepMs = kind.stepMs.toSorted((a, b) => a - b)[kind.stepMs.length >> 1];
    return { trace, alike: kind.opMs.length, peakBytes: heldPeak(trace).peakBytes, stepMs };
  }
}
