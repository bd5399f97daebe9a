import { RematError, setErrorKind } from "@remat/trace";

/**
 * A memory budget cannot be met. Its `code` is `BUDGET_INFEASIBLE`.
 *
 * The error ends the step before one of TensorFlow.js's own optimizers has updated any weight. A custom optimizer may
 * have updated some.
 *
 * @example
 * try { await withMemoryBudget("1GB", () => model.fit(x, y)); } catch (error) {
 *   if (error instanceof BudgetError) console.log(error.smallestBudgetBytes, error.op);
 * }
 */
export class BudgetError extends RematError {
  /** The budget that `op` needs in this pass, in bytes. Try it next, but a later op may need more. */
  readonly smallestBudgetBytes: number;
  /** The op that does not fit. */
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
