import { heldPeak } from "@remat/memory";
import { fingerprintOfOps, itemAt, opOccurrences, type Trace } from "@remat/trace";
import { withMeasuredTimes } from "@remat/tracer";

/** One recorded step. */
export interface StepRecord {
  readonly trace: Trace;
  readonly opMs: Float64Array;
  readonly stepMs: number;
}

/** The step that represents a group. */
export interface StepSummary {
  readonly trace: Trace;
  /** How many of the steps ran the same ops. */
  readonly alike: number;
  readonly peakBytes: number;
  /** The highest peak among all steps. */
  readonly mostBytes: number;
  readonly stepMs: number;
}

/** Steps that ran the same ops. */
interface Kind {
  trace: Trace;
  readonly opMs: Float64Array[];
  readonly stepMs: number[];
}

/** The recorded steps of one optimizer over the same weights, and the step that represents them. */
export class StepGroup {
  steps = 0;
  isWritten = false;
  private readonly kinds = new Map<string, Kind>();

  add({ trace, opMs, stepMs }: StepRecord): void {
    this.steps++;
    const fingerprint = fingerprintOfOps(opOccurrences(trace));
    const kind = this.kinds.get(fingerprint) ?? { trace, opMs: [], stepMs: [] };
    // Moves the kind to the end of the map, so that the newest is last.
    this.kinds.delete(fingerprint);
    this.kinds.set(fingerprint, kind);
    kind.trace = trace;
    kind.opMs.push(opMs);
    kind.stepMs.push(stepMs);
  }

  /**
   * Returns the newest step of the kind with the highest peak, with median times. If that one fits, all do. A kind that
   * occurred once is used only if no kind occurred again, because the first step creates the optimizer's slots.
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
      stepMs: itemAt(
        kind.stepMs.toSorted((a, b) => a - b),
        kind.stepMs.length >> 1,
      ),
    };
  }
}
