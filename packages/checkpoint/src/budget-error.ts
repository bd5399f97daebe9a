import { RematError, setErrorKind } from "@remat/trace";

/**
 * A memory budget cannot be met. Its `code` is `BUDGET_INFEASIBLE`.
 *
 * The step ends before an optimizer of TensorFlow.js updates any weight. A custom optimizer may already have updated
 * some weights.
 *
 * @example
 * try { await withMemoryBudget("1GB", () => model.fit(x, y)); } catch (error) {
 *   if (error instanceof BudgetError) console.log(error.smallestBudgetBytes, error.op);
 * }
 */
export class BudgetError extends RematError {
  /**
   * A budget in bytes that is enough for steps like this one. If the step could not continue over the budget, it is the
   * budget that `op` needs, and the message says that a later op may need more.
   */
  readonly smallestBudgetBytes: number;
  /** The op that needs the most, or that ended the step. */
  readonly op: string;

  static {
    setErrorKind(this, "BudgetError");
  }

  constructor(message: string, smallestBudgetBytes: number, op: string) {
    super("BUDGET_INFEASIBLE", message);
    this.smallestBudgetBytes = smallestBudgetBytes;
    this.op = op;
  }
}
