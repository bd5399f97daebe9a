import { type GradientsResult, hasFasterGradient } from "@remat/dispatch-hook";
import type { Trace } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import type { PlanningOutcome } from "./budget-execution.js";
import type { BudgetLimit } from "./budget-limit.js";
import type { BudgetPolicy } from "./budget-policy.js";
import type { PassObserver } from "./pass-observer.js";
import { PassPlanner } from "./pass-planner.js";
import type { ReleasedMeter } from "./released-meter.js";
import { StockMeter } from "./stock-meter.js";
import { WantedRecords } from "./wanted-records.js";

/** Limits on the planning of passes. @internal */
export interface PlanningLimits {
  /** Milliseconds that planning one pass may take. */
  readonly planningMs: number;
  /** True if no pass is planned, so that every pass keeps the budget op by op. */
  readonly online: boolean;
}

/** Runs passes within a budget, records those that may need a plan, and has the records planned. @internal */
export class RecordedPasses {
  private readonly wanted: WantedRecords;
  private readonly planner: PassPlanner;
  private readonly policy: BudgetPolicy;
  private readonly observer: PassObserver;
  private readonly meter: MemoryMeter;
  private readonly limit: BudgetLimit;
  private readonly plansNothing: boolean;

  constructor(
    policy: BudgetPolicy,
    observer: PassObserver,
    meter: MemoryMeter,
    limit: BudgetLimit,
    { planningMs, online }: PlanningLimits,
  ) {
    this.wanted = new WantedRecords(policy);
    this.planner = new PassPlanner(policy, meter, planningMs, limit);
    this.policy = policy;
    this.observer = observer;
    this.meter = meter;
    this.limit = limit;
    this.plansNothing = online;
  }

  /** Resolves with the last result once nothing is being planned. Reading it keeps the process alive. */
  get outcome(): Promise<PlanningOutcome> {
    return this.planner.outcome;
  }

  /** Stops planning, since no pass will follow the plans. */
  close(): void {
    this.planner.close();
  }

  /** The budget has grown, so passes are planned again. */
  planAnew(): void {
    this.planner.planAnew();
  }

  /**
   * Runs a pass, recorded if that is wanted.
   *
   * @param asked key of the gradients that it computes
   * @param hasFailed returns whether the pass that has run exceeds the budget, so that it fails
   */
  run(asked: string, run: () => GradientsResult, hasFailed: () => boolean): GradientsResult {
    const { wanted, policy, limit } = this;
    if (wanted.of === "none" || this.plansNothing) {
      const result = this.runUnrecorded(run);
      wanted.notRecorded();
      return result;
    }
    const keptFromBytes = this.meter.liveBytes;
    const stock = limit.share && new StockMeter(this.meter);
    const pass = { run, stock };
    const { result, released, trace } =
      wanted.of === "any" ? this.observer.record(pass) : this.observer.recordUnknown(pass);
    // A pass that followed its plan is not one that still needs a record.
    if (policy.predictedBytes !== undefined) {
      policy.checkPlan(released);
      wanted.recordedInVain();
    } else if (trace === undefined || hasFailed()) wanted.notRecorded();
    else if (stock !== undefined && limit.share?.seek(asked, stock.peakBytes) === true) limit.followShare();
    else if (this.planner.plan(trace, asked, { released, keptFromBytes })) wanted.of = "none";
    else wanted.recordedInVain();
    return result;
  }

  /** The first pass under a plan shows whether the plan is needed at all. */
  private runUnrecorded(run: () => GradientsResult): GradientsResult {
    if (!this.policy.passes.hasNewPlan) return run();
    const { result, released } = this.observer.meterRelease(run);
    this.policy.checkPlan(released);
    return result;
  }

  /** Plans a pass that was recorded to measure the baseline, unless later passes may run other ops. */
  passMeasured(trace: Trace, asked: string, released: ReleasedMeter): void {
    // Later passes use faster gradients, so their ops may differ from this record.
    this.wanted.of = trace.strings.some(hasFasterGradient) ? "any" : "none";
    if (this.wanted.of === "none" && !this.plansNothing) this.planner.plan(trace, asked, { released });
  }
}
