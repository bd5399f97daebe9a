/**
 * The error code of a search that ended without a plan and without a proof that none exists. More time may find one.
 */
export const budgetNotFound = "BUDGET_NOT_FOUND";

/**
 * Why a budget cannot be met: the lower bound on memory, and the tensors read and made by the op or node that needs it.
 */
export interface UnmetBudget {
  /** True if it is proven that no plan meets the budget. If false, the search just did not find one. */
  readonly isProven: boolean;
  /** A lower bound on the peak of any plan, in bytes. */
  readonly lowerBoundBytes: number;
  /** The lowest peak found, in bytes. */
  readonly smallestFoundBytes: number;
  readonly inputs: readonly { readonly name: string; readonly bytes: number }[];
  readonly outputs: readonly { readonly name: string; readonly bytes: number }[];
  /** Weights and other storages that are live all the time, in bytes. */
  readonly heldBytes: number;
  /** Tensors that wait there for a later op and cannot be recomputed, in bytes: gradients, random numbers, results. */
  readonly waitingBytes: number;
}
