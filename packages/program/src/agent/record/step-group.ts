import { heldPeak } from "@remat/memory";
import { fingerprintOfOps, opOccurrences, type Trace } from "@remat/trace";
import { withMeasuredTimes } from "@remat/tracer";

/** A step as it was recorded. */
export interface StepRecord {
  readonly trace: Trace;
  readonly opMs: Float64Array;
  readonly stepMs: number;
}

/** What stands for a group. */
export interface StepSummary {
  readonly trace: Trace;
  /** How many of the steps ran its ops. */
  readonly alike: number;
  readonly peakBytes: number;
  /** The peak of that of all steps which holds most. */
  readonly mostBytes: number;
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

  /**
   * The newest of the kind of step that holds most, with median times: what fits it, fits all. A kind that came once stands for others only where none came
   * again: the first makes the optimizer's slots.
   */
  summarize(): StepSummary {
    const all = [...this.kinds.values()].reverse().map((kind) => ({ kind, peakBytes: heldPeak(kind.trace).peakBytes }));
    const again = all.filter(({ kind }) => kind.opMs.length > 1);
    const { kind, peakBytes } = (again.length > 0 ? again : all).reduce((most, other) =>
      other.peakBytes > most.peakBytes ? other : most,
    );
    return {
      trace: withMeasuredTimes(kind.trace, kind.opMs),
      alike: kind.opMs.length,
      peakBytes,
      mostBytes: Math.max(...all.map((each) => each.peakBytes)),
      stepMs: kind.stepMs.toSorted((a, b) => a - b)[kind.stepMs.length >> 1],
    };
  }
}
