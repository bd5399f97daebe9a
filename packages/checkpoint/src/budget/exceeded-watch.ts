import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { BudgetError } from "../budget-error.js";
import type { ExceededBudget } from "./budget-execution.js";
import { warnOnce } from "./warning.js";

/** Detects ops that exceed the budget, and throws or warns. It warns once per process. @internal */
export class ExceededWatch {
  private readonly isStrict: boolean;
  /** The worst excess since the last pass began. */
  exceeded: ExceededBudget | undefined;

  constructor(isStrict: boolean) {
    this.isStrict = isStrict;
  }

  passStarting(): void {
    this.exceeded = undefined;
  }

  /**
   * Checks the peak of the pass so far. Called after every op, so `op` is a function that describes it only when
   * needed.
   */
  look(peakBytes: number, budgetBytes: number, op: () => string): void {
    const exceeded = this.note(peakBytes, budgetBytes, op);
    if (exceeded === undefined) return;
    const message =
      `memory reached ${formatTypedBytes(peakBytes)} in ${exceeded.op}, ` +
      `${formatBytes(peakBytes - budgetBytes)} over the budget of ${formatBytes(budgetBytes)}. ` +
      "Raise the budget, or use a smaller batch.";
    if (this.isStrict) throw new BudgetError(message, peakBytes, exceeded.op);
    warnOnce("BUDGET_EXCEEDED", message);
  }

  /** Like `look`, without an error or a warning. Returns the excess if it is larger than the known one. */
  note(peakBytes: number, budgetBytes: number, op: () => string): ExceededBudget | undefined {
    if (peakBytes <= budgetBytes || peakBytes <= (this.exceeded?.peakBytes ?? 0)) return undefined;
    this.exceeded = { budgetBytes, peakBytes, op: op() };
    return this.exceeded;
  }
}
