import type { GradientsResult, OpDone, UpdateCall } from "@remat/dispatch-hook";
import { formatBytes } from "@remat/trace/text";
import type { MemoryMeter } from "../memory-meter.js";
import type { RunOp } from "../plan/op-sequence.js";
import type { BudgetLimit } from "./budget-limit.js";
import type { BudgetPeaks } from "./budget-peaks.js";
import type { PassObserver } from "./pass-observer.js";
import type { RecordedPasses } from "./recorded-passes.js";
import type { ResidentWatch } from "./resident-watch.js";
import { StockMeter } from "./stock-meter.js";
import type { StockShare } from "./stock-share.js";
import { StockUpdates } from "./stock-updates.js";
import { warnOnce } from "./warning.js";

/** The figures that count from the first measurement on, or from a larger budget on. @internal */
export interface FiguresUnderBudget {
  readonly peaks: BudgetPeaks;
  readonly resident: ResidentWatch;
}

/**
 * Follows the peak of unmodified TensorFlow.js, of which a budget in percent is a share. Runs the passes that measure
 * it, and raises it when another pass, or an update, would use more.
 *
 * @internal
 */
export class StockMeasurement {
  /** True if the current pass measures unmodified TensorFlow.js. */
  isRunning = false;
  private readonly updates = new StockUpdates();
  private readonly share: StockShare;
  private readonly limit: BudgetLimit;
  private readonly meter: MemoryMeter;
  private readonly observer: PassObserver;
  private readonly records: RecordedPasses;
  private readonly figures: FiguresUnderBudget;

  constructor(
    share: StockShare,
    limit: BudgetLimit,
    meter: MemoryMeter,
    observer: PassObserver,
    records: RecordedPasses,
    figures: FiguresUnderBudget,
  ) {
    this.share = share;
    this.limit = limit;
    this.meter = meter;
    this.observer = observer;
    this.records = records;
    this.figures = figures;
  }

  /** A pass begins. Unmodified TensorFlow.js would keep the same tensors alive between passes. */
  passStarting(): void {
    const { share, meter } = this;
    if (share.raise(meter.peakBytes) && !share.isLifted) this.limit.followShare();
    share.passStarting(meter.liveBytes);
  }

  /** Returns whether to measure the pass that begins, given the key of its gradients. */
  wants(asked: string): boolean {
    return this.share.wants(asked);
  }

  /** An op has run in a pass. */
  opOver(op: OpDone | RunOp): void {
    this.share.opOver(op);
  }

  /** A pass within the budget is over. */
  passOver(): void {
    if (this.share.passOver()) this.limit.followShare();
  }

  /** An update is about to run. The peak of unmodified TensorFlow.js may be in it. */
  updateComing(call: UpdateCall, asked: string): void {
    const bytes = this.updates.comingBytes(call, asked, this.meter);
    if (bytes !== undefined && this.share.raise(bytes)) this.limit.followShare();
  }

  /**
   * Runs a pass with early release and counts it as if nothing were released early.
   *
   * @param asked key of the gradients that the pass computes
   */
  measure(asked: string, run: () => GradientsResult): GradientsResult {
    const { share, limit, meter } = this;
    const { peaks, resident } = this.figures;
    const { bytes: budgetBytes } = limit;
    const wasLifted = share.isLifted;
    this.isRunning = true;
    try {
      const stock = new StockMeter(meter);
      const { result, trace, released } = this.observer.record({ run, stock });
      const { peakBytes, addedBytes } = stock;
      this.updates.passMeasured(peakBytes);
      const releasedBytes = released.addedBytes;
      if (share.add(asked, { trace, peakBytes, addedBytes, releasedBytes }) && budgetBytes !== undefined)
        this.budgetGrown(wasLifted);
      this.records.passMeasured(trace, asked, released);
      return result;
    } finally {
      this.isRunning = false;
      limit.followShare();
      // Memory used so far does not count against the budget.
      resident.begin(meter.liveBytes);
      if (budgetBytes === undefined) peaks.restart();
      peaks.measure(meter.peakBytes);
      meter.reset();
    }
  }

  private budgetGrown(warns: boolean): void {
    const { budgetBytes, peakBytes } = this.share;
    this.records.planAnew();
    this.figures.peaks.restart();
    if (warns) warnRaised(budgetBytes as number, peakBytes as number);
  }
}

function warnRaised(budgetBytes: number, stockPeakBytes: number): void {
  warnOnce(
    "BUDGET_RAISED",
    `a step needs ${formatBytes(stockPeakBytes)} without remat, more than earlier steps. The budget is a share of that, and is now ${formatBytes(budgetBytes)}. For a fixed limit, give the budget in bytes.`,
  );
}
