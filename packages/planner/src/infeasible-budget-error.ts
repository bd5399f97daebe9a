import { budgetNotFound, type UnmetBudget } from "@remat/memory";
import { RematError, setErrorKind } from "@remat/trace";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";

/**
 * A budget that nothing keeps to; `code` is `BUDGET_INFEASIBLE` where that is proven, `BUDGET_NOT_FOUND` where a search came to its end without a
 * plan, and more time may find one. The message names what binds.
 *
 * @example
 * try { await planModule(stats, { budgetBytes }); } catch (error) {
 *   if (error instanceof InfeasibleBudgetError) retryWith(error.smallestBudgetBytes);
 * }
 */
export class InfeasibleBudgetError extends RematError {
  /** The smallest budget that is known to be kept to. */
  readonly smallestBudgetBytes: number;

  static {
    setErrorKind(this, "InfeasibleBudgetError");
  }

  constructor(smallestBudgetBytes: number, message: string, isProven = true) {
    super(isProven ? "BUDGET_INFEASIBLE" : budgetNotFound, message);
    this.smallestBudgetBytes = smallestBudgetBytes;
  }
}

/** Why nothing keeps to a budget, and whose. */
export interface NothingWithin extends Pick<UnmetBudget, "isProven" | "smallestFoundBytes" | "lowerBoundBytes"> {
  /** Of the model, or graph. */
  readonly name: string;
  readonly budgetBytes: number;
  /** What needs `lowerBoundBytes`. */
  readonly occurrence: string;
}

/** Returns the error that says that nothing keeps to a budget: the one wording of it, for commands and library users. */
export function nothingWithin(given: NothingWithin): InfeasibleBudgetError {
  const { name, budgetBytes, isProven, smallestFoundBytes, lowerBoundBytes, occurrence } = given;
  // A search for exactly that goes another way than the one that came upon it.
  const again = smallestFoundBytes > lowerBoundBytes ? "; so tight a one may take more time to find again" : "";
  return new InfeasibleBudgetError(
    smallestFoundBytes,
    `${name}: ${isProven ? "proven that nothing fits" : "nothing was found"} within ${formatBytes(budgetBytes)}; the smallest budget found is ${formatTypedBytes(smallestFoundBytes)}, ` +
      `and no plan needs less than ${formatBytes(lowerBoundBytes)}, which ${occurrence} takes. Give a budget of ${smallestFoundBytes}B or more${isProven ? "" : ", or more time to search"}${again}.`,
    isProven,
  );
}
