import type { MemoryMeter } from "../memory-meter.js";
import type { ExceededBudget } from "./budget-execution.js";
import type { BudgetLimit } from "./budget-limit.js";
import { exceededProblem, type Shortage } from "./shortage.js";
import { warnOnce } from "./warning.js";

const otherwise = ", or use a smaller batch.";

/** Detects ops that exceed the budget, and rejects them or warns. It warns once per process. @internal */
export class ExceededWatch {
  /** The worst excess since the last pass began. */
  exceeded: ExceededBudget | undefined;

  private readonly limit: BudgetLimit;
  private readonly meter: Pick<MemoryMeter, "knownPeakBytes">;
  private readonly reject: ((shortage: Shortage) => void) | undefined;

  /** @param reject rejects an op that exceeds a strict budget. Undefined if the budget is not strict. */
  constructor(
    limit: BudgetLimit,
    meter: Pick<MemoryMeter, "knownPeakBytes">,
    reject: ((shortage: Shortage) => void) | undefined,
  ) {
    this.limit = limit;
    this.meter = meter;
    this.reject = reject;
  }

  /** True if the current pass has used more than it may. */
  get isOver(): boolean {
    const { bytes, overrunBytes } = this.limit;
    return bytes !== undefined && this.meter.knownPeakBytes > Math.max(bytes, overrunBytes);
  }

  passStarting(): void {
    this.exceeded = undefined;
  }

  /**
   * Checks the peak of the pass so far, unless the budget grows with it. `op` describes the op that has run, if needed.
   *
   * @param asked key of the gradients that the current pass computes, or undefined between passes
   */
  check(asked: string | undefined, op: () => string): void {
    const { limit, isOver } = this;
    if (limit.bytes === undefined || !isOver) return;
    const { bytes: budgetBytes } = limit;
    const { knownPeakBytes: peakBytes } = this.meter;
    if (!limit.lift(peakBytes, asked)) this.report(peakBytes, budgetBytes, op);
    else if (limit.share?.isLifted === true) this.note(peakBytes, budgetBytes, op);
    else this.check(asked, op);
  }

  private report(peakBytes: number, budgetBytes: number, op: () => string): void {
    const exceeded = this.note(peakBytes, budgetBytes, op);
    if (exceeded === undefined) return;
    const problem = exceededProblem(exceeded.op, peakBytes, budgetBytes);
    if (this.reject === undefined) warnOnce("BUDGET_EXCEEDED", `${problem} Raise the budget${otherwise}`);
    else this.reject({ problem, op: exceeded.op, neededBytes: peakBytes, otherwise });
  }

  /** Records the excess without an error or a warning. Returns it if it is larger than the known one. */
  private note(peakBytes: number, budgetBytes: number, op: () => string): ExceededBudget | undefined {
    if (peakBytes <= budgetBytes || peakBytes <= (this.exceeded?.peakBytes ?? 0)) return undefined;
    this.exceeded = { budgetBytes, peakBytes, op: op() };
    return this.exceeded;
  }
}
