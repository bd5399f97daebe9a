import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { BudgetError } from "../budget-error.js";

/** An op, or an update, that does not fit in the budget. @internal */
export interface Shortage {
  /** Says what does not fit, and why. */
  readonly problem: string;
  /** The op with the shapes of its inputs, the update, or the data. */
  readonly op: string;
  /** The budget with which it fits, in bytes. */
  readonly neededBytes: number;
  /** Alternatives to a larger budget. */
  readonly otherwise: string;
}

/** Alternatives to a larger budget, if an op of a pass does not fit. @internal */
export const orSmallerPass = ", pass a plan, which may need less, or use a smaller batch.";

/** Returns the error of an op. If it is not the last of its step, later ops may need more. @internal */
export function errorOf({ problem, op, neededBytes, otherwise }: Shortage, isLast: boolean): BudgetError {
  const later = isLast ? "" : " (a later op may need more)";
  const budget = formatTypedBytes(neededBytes);
  return new BudgetError(`${problem} Raise the budget to ${budget} or more${later}${otherwise}`, neededBytes, op);
}

/** Returns the problem of an op that exceeded the budget while it ran. @internal */
export const exceededProblem = (op: string, peakBytes: number, budgetBytes: number): string =>
  `memory reached ${formatTypedBytes(peakBytes)} in ${op}, ` +
  `${formatBytes(peakBytes - budgetBytes)} over the budget of ${formatBytes(budgetBytes)}.`;
