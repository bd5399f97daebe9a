/** The code of a search that came to its end without a plan and without a proof that there is none: more time may find one. */
export const budgetNotFound = "BUDGET_NOT_FOUND";

/** Why nothing meets a budget: what can be held at least, and what the op, or node, that needs it reads and makes. */
export interface UnmetBudget {
  /** Whether it is proven that nothing meets it; if not, nothing was found. */
  readonly isProven: boolean;
  /** No plan holds less. */
  readonly lowerBoundBytes: number;
  /** The smallest peak found. */
  readonly smallestFoundBytes: number;
  readonly inputs: readonly { readonly name: string; readonly bytes: number }[];
  readonly outputs: readonly { readonly name: string; readonly bytes: number }[];
  /** Weights and other storages that are held all the time. */
  readonly heldBytes: number;
  /** What waits there for a later op and cannot be recomputed: gradients, random numbers, results. */
  readonly waitingBytes: number;
}
