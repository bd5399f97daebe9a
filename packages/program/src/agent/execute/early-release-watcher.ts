import { MemoryMeter } from "@remat/checkpoint";
import {
  type CloseMode,
  type DispatchMode,
  type GradientsCall,
  type GradientsResult,
  openDispatchMode,
  type RunGradients,
  registeredVariables,
} from "@remat/dispatch-hook";
import type { ExecutedPasses } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";

/** The first makes an optimizer's slots. */
const measuredPasses = 3;

/** Counts the passes under early release, and what the first of them hold; later ones run with no op watched. */
export class EarlyReleaseWatcher implements DispatchMode {
  private isInPass = false;
  private passesMs = 0;
  private readonly meter = new MemoryMeter();
  private readonly closeMeter: CloseMode = openDispatchMode(this.meter);

  constructor(private readonly reporter: ThreadReporter) {}

  gradients(_call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass) return next();
    // What the pass before it has left to be updated is in its count.
    if (this.reporter.passes === measuredPasses) this.closeMeter();
    else this.meter.count(registeredVariables());
    const startedAt = performance.now();
    this.isInPass = true;
    try {
      return next();
    } finally {
      this.isInPass = false;
      this.passesMs += performance.now() - startedAt;
      this.reporter.passed(() => this.executed());
    }
  }

  executed(): ExecutedPasses {
    return {
      budgetBytes: undefined,
      stockPeakBytes: undefined,
      heldBytes: this.meter.peakBytes,
      peakBytes: this.meter.peakBytes,
      passesMs: this.passesMs,
      recomputedMs: 0,
      recomputedOps: 0,
      plannedPasses: 0,
    };
  }
}
