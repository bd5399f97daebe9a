import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { BudgetError } from "../budget-error.js";
import type { ExceededBudget } from "./budget-execution.js";
import { warnOnce } from "./warning.js";

/**
 * Notices what holds more than a budget, and says so: by an error, or in a warning, once in a process.
 *
 * @internal
 */
export class ExceededWatch {
  private readonly isStrict: boolean;
  /** The most of it since the last pass began. */
  exceeded: ExceededBudget | undefined;

  constructor(isStrict: boolean) {
    this.isStrict = isStrict;
  }

  passStarting(): void {
    this.exceeded = undefined;
  }

  /** `peakBytes` have been alive, at most, since the pass began; asked after every op, so `op` is told only when it is needed. */
  look(peakBytes: number, budgetBytes: number, op: () => string): void {
    const exceeded = this.note(peakBytes, budgetBytes, op);
    if (exceeded === undefined) return;
    const message = `${exceeded.op} has held ${formatTypedBytes(peakBytes)} in all, ${formatBytes(peakBytes - budgetBytes)} more than the budget of ${formatBytes(budgetBytes)}. Allow as much, or take a smaller batch.`;
    if (this.isStrict) throw new BudgetError(message, peakBytes, exceeded.op);
    warnOnce("BUDGET_EXCEEDED", message);
  }

  /** The same without a word. Returns what is more than was known. */
  note(peakBytes: number, budgetBytes: number, op: () => string): ExceededBudget | undefined {
    if (peakBytes <= budgetBytes || peakBytes <= (this.exceeded?.peakBytes ?? 0)) return undefined;
    this.exceeded = { budgetBytes, peakBytes, op: op() };
    return this.exceeded;
  }
}
