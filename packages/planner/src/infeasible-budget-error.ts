import { RematError, setErrorKind } from "@remat/trace";

/**
 * A budget that nothing can keep to; `code` is `BUDGET_INFEASIBLE`. The message names what binds.
 *
 * @example
 * try { await planModule(stats, { budgetBytes }); } catch (error) {
 *   if (error instanceof InfeasibleBudgetError) retryWith(error.smallestBudgetBytes);
 * }
 */
export class InfeasibleBudgetError extends RematError {
  /** The smallest budget that can be kept to. */
  readonly smallestBudgetBytes: number;

  static {
    setErrorKind(this, "InfeasibleBudgetError");
  }

  constructor(smallestBudgetBytes: number, message: string) {
    super("BUDGET_INFEASIBLE", message);
    this.smallestBudgetBytes = smallestBudgetBytes;
  }
}
