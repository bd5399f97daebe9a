import { MemoryMeter } from "@remat/checkpoint";
import {
  type CloseMode,
  type DispatchInterceptor,
  type GradientsCall,
  type GradientsResult,
  openDispatchMode,
  type RunGradients,
  registeredVariables,
  type UpdateCall,
} from "@remat/dispatch-hook";
import type { Guard } from "../../outside/guard.js";
import type { ExecutedPasses } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";

/** Number of updates to measure for each optimizer. The first one creates its slots. */
const countedUpdates = 3;
/** Limit for a program that updates its weights by other means, or rarely calls an optimizer. */
const mostCountedPasses = 100;

/**
 * Counts the passes under early release and measures the memory of the first steps. Later passes run without watching
 * ops.
 */
export class EarlyReleaseWatcher implements DispatchInterceptor {
  private isInPass = false;
  private passesMs = 0;
  private readonly meter = new MemoryMeter();
  private readonly closeMeter: CloseMode = openDispatchMode(this.meter);
  private readonly updates = new Map<object, number>();
  private countedPasses: number | undefined;

  private readonly reporter: ThreadReporter;
  private readonly guard: Guard;

  constructor(reporter: ThreadReporter, guard: Guard) {
    this.reporter = reporter;
    this.guard = guard;
  }

  gradients(_call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass) return next();
    // Guarded separately, so that remat's own errors are reported. A `catch` around the pass would make Node name this
    // line as the place of the program's error.
    this.guard.run(() => {
      this.reporter.passStarting();
      if (this.countedPasses === undefined) this.count();
    });
    const startedAt = performance.now();
    this.isInPass = true;
    try {
      return next();
    } finally {
      this.isInPass = false;
      this.passesMs += performance.now() - startedAt;
      this.guard.run(() => this.reporter.passed(() => this.executed()));
    }
  }

  applyGradients({ optimizer }: UpdateCall, next: () => void): void {
    if (this.countedPasses === undefined) this.updates.set(optimizer, (this.updates.get(optimizer) ?? 0) + 1);
    next();
  }

  /** Counts the tensors that the previous pass left for the update. */
  private count(): void {
    const { passes } = this.reporter;
    const updates = [...this.updates.values()];
    if (passes < mostCountedPasses && (updates.length === 0 || updates.some((count) => count < countedUpdates)))
      return this.meter.count(registeredVariables());
    this.countedPasses = passes;
    this.updates.clear();
    this.closeMeter();
  }

  executed(): ExecutedPasses {
    return {
      budgetBytes: undefined,
      stockPeakBytes: undefined,
      heldBytes: this.meter.peakBytes,
      peakBytes: this.meter.peakBytes,
      countedPasses: this.countedPasses,
      passesMs: this.passesMs,
      recomputedMs: 0,
      recomputedOps: 0,
      offloadedBytes: 0,
      planPasses: [],
      peakPlan: undefined,
    };
  }
}
