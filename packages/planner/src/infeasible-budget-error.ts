import { budgetNotFound, type UnmetBudget } from "@remat/memory";
import { RematError, setErrorKind } from "@remat/trace";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";

/**
 * Error for a budget that cannot be met. `code` is `BUDGET_INFEASIBLE` if that is proven. It is `BUDGET_NOT_FOUND` if a
 * search ended without a plan, although a longer search may find one. The message names the bottleneck.
 *
 * @example
 * try { await planModule(stats, { budgetBytes }); } catch (error) {
 *   if (error instanceof InfeasibleBudgetError) retryWith(error.smallestBudgetBytes);
 * }
 */
export class InfeasibleBudgetError extends RematError {
  /** The smallest budget that is known to be feasible. */
  readonly smallestBudgetBytes: number;

  static {
    setErrorKind(this, "InfeasibleBudgetError");
  }

  constructor(smallestBudgetBytes: number, message: string, isProven = true) {
    super(isProven ? "BUDGET_INFEASIBLE" : budgetNotFound, message);
    this.smallestBudgetBytes = smallestBudgetBytes;
  }
}

/** The reason why a budget cannot be met, and the model. */
export interface NothingWithin extends Pick<UnmetBudget, "isProven" | "smallestFoundBytes" | "lowerBoundBytes"> {
  /** Name of the model or graph. */
  readonly name: string;
  readonly budgetBytes: number;
  /** The op or node that needs `lowerBoundBytes`. */
  readonly occurrence: string;
}

/** Returns the error for a budget that cannot be met. Commands and library users get the same message. */
export function nothingWithin(given: NothingWithin): InfeasibleBudgetError {
  const { name, budgetBytes, isProven, smallestFoundBytes, lowerBoundBytes, occurrence } = given;
  // A search for exactly that budget takes a different path than the search that found it.
  const again = smallestFoundBytes > lowerBoundBytes ? "; a plan this tight may take more time to find again" : "";
  return new InfeasibleBudgetError(
    smallestFoundBytes,
    `${name}: ${isProven ? "no plan fits" : "no plan was found"} within ${formatBytes(budgetBytes)}. ${occurrence} alone needs ${formatBytes(lowerBoundBytes)}, and the smallest peak found is ${formatTypedBytes(smallestFoundBytes)}. ` +
      `Raise the budget to ${smallestFoundBytes}B or more${isProven ? "" : ", or allow more time"}${again}.`,
    isProven,
  );
}
