import { RematError, setErrorKind } from "@remat/trace";

/**
 * A memory budget that cannot be kept: code `BUDGET_INFEASIBLE`. It ends the step before the optimizer has updated any weight, if it is one of tfjs's own;
 * of one that is not, some may be updated.
 *
 * @example
 * try { await withMemoryBudget("1GB", () => model.fit(x, y)); } catch (error) {
 *   if (error instanceof BudgetError) console.log(error.smallestBudgetBytes, error.op);
 * }
 */
export class BudgetError extends RematError {
  /** What the op that was refused has room within, as the pass was run: the next to try. An op that comes later may need more. */
  readonly smallestBudgetBytes: number;
  /** The op that needs it. */
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
