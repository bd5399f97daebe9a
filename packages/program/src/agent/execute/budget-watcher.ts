import type { BudgetExecution } from "@remat/checkpoint";
import type { DispatchMode, GradientsCall, GradientsResult, RunGradients } from "@remat/dispatch-hook";
import { RematError } from "@remat/trace";
import type { ExecutedPasses } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";

/** Sums up what the passes under a budget take. Opened after it, so that a pass is over for the budget when it is for us. */
export class BudgetWatcher implements DispatchMode {
  private isInPass = false;
  private passesMs = 0;
  private recomputedMs = 0;
  private recomputedOps = 0;
  private plannedPasses = 0;

  constructor(
    private readonly execution: BudgetExecution,
    private readonly hasBudget: boolean,
    private readonly reporter: ThreadReporter,
  ) {}

  gradients(_call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass) return next();
    const before = this.execution.lastStep;
    const startedAt = performance.now();
    this.isInPass = true;
    try {
      return next();
    } catch (error) {
      if (error instanceof RematError) this.reporter.fail(error.message);
      throw error;
    } finally {
      this.isInPass = false;
      this.passesMs += performance.now() - startedAt;
      this.add(this.execution.lastStep, before);
      this.reporter.passed(() => this.executed());
    }
  }

  executed(): ExecutedPasses {
    const { execution, passesMs, recomputedMs, recomputedOps, plannedPasses } = this;
    return {
      budgetBytes: this.hasBudget ? execution.budgetBytes : undefined,
      stockPeakBytes: execution.stockPeakBytes,
      heldBytes: execution.heldBytes,
      peakBytes: execution.peakBytes,
      passesMs,
      recomputedMs,
      recomputedOps,
      plannedPasses,
    };
  }

  /** The first pass may have run as stock, with no report. */
  private add(step: BudgetExecution["lastStep"], before: BudgetExecution["lastStep"]): void {
    if (step === undefined || step === before) return;
    this.recomputedMs += step.recomputedMs;
    this.recomputedOps += step.recomputedOps;
    if (step.predictedBytes !== undefined) this.plannedPasses++;
  }
}
