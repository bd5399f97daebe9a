/**
 * The error code of a search that ended without a plan, and without a proof that none exists. A longer search may find
 * one.
 */
export const budgetNotFound = "BUDGET_NOT_FOUND";

/**
 * The reason why no plan within the budget was found: a lower bound on the peak, and the inputs and outputs of the op
 * or node that needs the most memory.
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
  /**
   * Bytes of other tensors that must stay alive while the op that needs the most memory runs. A later op needs them,
   * and they cannot be recomputed: gradients, random numbers, results.
   */
  readonly waitingBytes: number;
}
