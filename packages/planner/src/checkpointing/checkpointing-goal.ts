import type { Budget } from "@remat/memory";
import { describeValue, RematError } from "@remat/trace";

/**
 * The goal of planning: a budget in bytes, a budget as a fraction of the peak without a plan, or the longest acceptable
 * slowdown of the step as a fraction.
 */
export type CheckpointingGoal =
  | { readonly budgetBytes: number }
  | { readonly budgetFraction: number }
  | { readonly maxOverhead: number };

/** Returns a budget as a goal. See `parseBudget` of `@remat/memory`. */
export function goalOfBudget(budget: Budget): { readonly budgetBytes: number } | { readonly budgetFraction: number } {
  return "bytes" in budget ? { budgetBytes: budget.bytes } : { budgetFraction: budget.fraction };
}

/** Checks that exactly one goal is given and that all numbers are in range. @internal */
export function checkGoal(options: CheckpointingGoal): void {
  const given: Record<string, unknown> = { ...options };
  const goals = (["budgetBytes", "budgetFraction", "maxOverhead"] as const).flatMap((name) =>
    given[name] === undefined ? [] : [[name, given[name]] as const],
  );
  if (goals.length !== 1)
    throw new RematError(
      "BUDGET",
      `pass exactly one of budgetBytes, budgetFraction and maxOverhead; found ${goals.map(([name]) => name).join(", ") || "none"}.`,
    );
  const [[name, value]] = goals;
  const isInRange =
    typeof value === "number" && (name === "maxOverhead" ? value >= 0 : value > 0) && value < Number.POSITIVE_INFINITY;
  if (!isInRange || (name === "budgetFraction" && value > 1))
    throw new RematError(
      "BUDGET",
      `${name} must be a number ${name === "maxOverhead" ? "of at least 0" : name === "budgetFraction" ? "above 0 and at most 1" : "above 0"}; found ${describeValue(value)}.`,
    );
  for (const [count, least] of [
    ["paretoPoints", 0],
    ["searches", 1],
  ] as const)
    if (given[count] !== undefined && !(Number.isInteger(given[count]) && (given[count] as number) >= least))
      throw new RematError(
        "BUDGET",
        `${count} must be a whole number of at least ${least}; found ${describeValue(given[count])}.`,
      );
}
