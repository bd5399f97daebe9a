import type { ExceededBudget } from "./budget-execution.js";
import { exceededProblem, type Shortage } from "./shortage.js";
import { warnOnce } from "./warning.js";

const otherwise = ", or use a smaller batch.";

/** Detects ops that exceed the budget, and rejects them or warns. It warns once per process. @internal */
export class ExceededWatch {
  private readonly reject: ((shortage: Shortage) => void) | undefined;
  /** The worst excess since the last pass began. */
  exceeded: ExceededBudget | undefined;

  /** @param reject rejects an op that exceeds a strict budget. Undefined if the budget is not strict. */
  constructor(reject: ((shortage: Shortage) => void) | undefined) {
    this.reject = reject;
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
    const problem = exceededProblem(exceeded.op, peakBytes, budgetBytes);
    if (this.reject === undefined) warnOnce("BUDGET_EXCEEDED", `${problem} Raise the budget${otherwise}`);
    else this.reject({ problem, op: exceeded.op, neededBytes: peakBytes, otherwise });
  }

  /** Like `look`, without an error or a warning. Returns the excess if it is larger than the known one. */
  note(peakBytes: number, budgetBytes: number, op: () => string): ExceededBudget | undefined {
    if (peakBytes <= budgetBytes || peakBytes <= (this.exceeded?.peakBytes ?? 0)) return undefined;
    this.exceeded = { budgetBytes, peakBytes, op: op() };
    return this.exceeded;
  }
}
