import type { BudgetExecution, PlanExecution } from "@remat/checkpoint";
import type {
  AutogradObserver,
  DispatchInterceptor,
  GradientsCall,
  GradientsResult,
  RunGradients,
} from "@remat/dispatch-hook";
import { describePlanMismatch, type Plan, RematError } from "@remat/trace";
import type { Guard } from "../../outside/guard.js";
import type { ExecutedPasses } from "../../thread-report.js";
import type { ThreadReporter } from "../thread-reporter.js";

/**
 * Sums up the passes that run within a budget or under plans. It is opened after the executor, which has therefore
 * finished a pass when this watcher sees its end.
 */
export class ExecutionWatcher implements DispatchInterceptor, AutogradObserver {
  private isInPass = false;
  private passesMs = 0;
  private recomputedMs = 0;
  private recomputedOps = 0;
  private offloadedBytes = 0;
  private readonly planPasses: number[];
  /** Peak up to the end of the last pass, or of the update after it. */
  private peakBytes = 0;
  private peakPlan: number | undefined;
  /** The plan that the last pass followed. */
  private lastPlan: number | undefined;
  private leftPlan: string | undefined;

  private readonly execution: BudgetExecution | PlanExecution;
  private readonly plans: readonly Plan[];
  private readonly reporter: ThreadReporter;
  private readonly guard: Guard;

  constructor(
    execution: BudgetExecution | PlanExecution,
    plans: readonly Plan[],
    reporter: ThreadReporter,
    guard: Guard,
  ) {
    this.execution = execution;
    this.plans = plans;
    this.reporter = reporter;
    this.guard = guard;

    this.planPasses = plans.map(() => 0);
  }

  gradients(_call: GradientsCall, next: RunGradients): GradientsResult {
    if (this.isInPass) return next();
    // Guarded separately, so that remat's own errors are reported. A `catch` around the pass would make Node name this
    // line as the place of the program's error.
    this.guard.run(() => {
      this.reporter.passStarting();
      this.notePeak();
    });
    const startedAt = performance.now();
    this.isInPass = true;
    try {
      return next();
    } finally {
      this.isInPass = false;
      this.passesMs += performance.now() - startedAt;
      this.guard.run(() => {
        this.add(this.execution.lastStep);
        this.notePeak();
        this.reporter.passed(() => this.executed());
      });
    }
  }

  /** A pass may run out of memory, which the program may catch. */
  passFailed(error: unknown): void {
    if (error instanceof RematError) this.reporter.fail(error.message);
  }

  executed(): ExecutedPasses {
    this.notePeak();
    const { execution, passesMs, recomputedMs, recomputedOps, offloadedBytes, planPasses, peakPlan, leftPlan } = this;
    const { peakBytes } = execution;
    return {
      budgetBytes: "budgetBytes" in execution ? execution.budgetBytes : undefined,
      stockPeakBytes: "stockPeakBytes" in execution ? execution.stockPeakBytes : undefined,
      heldBytes: "heldBytes" in execution ? execution.heldBytes : peakBytes,
      peakBytes,
      measuredPeakBytes: "measuredPeakBytes" in execution ? execution.measuredPeakBytes : undefined,
      passesMs,
      recomputedMs,
      recomputedOps,
      offloadedBytes,
      planPasses,
      peakPlan,
      ...(leftPlan !== undefined && { leftPlan }),
    };
  }

  /** Memory that a pass leaves for the update counts for the pass. */
  private notePeak(): void {
    const { peakBytes } = this.execution;
    // The peak restarts if the budget grows.
    if (peakBytes === this.peakBytes) return;
    this.peakBytes = peakBytes;
    this.peakPlan = this.lastPlan;
  }

  /** A pass under a budget may have run unmodified, without a report. */
  private add(step: BudgetExecution["lastStep"] | PlanExecution["lastStep"]): void {
    this.lastPlan = undefined;
    if (step === undefined) return;
    this.recomputedMs += step.recomputedMs;
    this.recomputedOps += step.recomputedOps;
    this.offloadedBytes += step.offloadedBytes;
    const { plan } = step;
    if (plan === undefined) {
      if ("mismatch" in step && step.mismatch !== undefined) this.leftPlan ??= describePlanMismatch(step.mismatch);
      return;
    }
    this.lastPlan = this.plans.indexOf(plan);
    this.planPasses[this.lastPlan] = (this.planPasses[this.lastPlan] ?? 0) + 1;
  }
}
