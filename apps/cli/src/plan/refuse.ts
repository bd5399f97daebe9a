import { budgetNotFound } from "@remat/memory";
import { formatOverhead, formatTypedPercent } from "@remat/reporting";
import { type InfeasibleBudget } from "@remat/reporting/documents";
import { type Plan, RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import type { PlanOptions } from "./plan-options.js";

/**
 * Returns the error for a plan of an inference step.
 *
 * @param typed the model, as typed in a command
 */
export function nothingToRecompute(name: string, typed: string): RematError {
  return new RematError(
    "PLAN_PREDICTION",
    `inference of ${name} (--predict) has no backward pass, so there is nothing to recompute. ` +
      `Remove --predict to plan training, or run ${shell`remat memory ${shell.path(typed)} --predict`} to see its memory.`,
  );
}

/** Returns the error that ends a command that was interrupted too early. */
export function interruptedEarly({ name, budgetBytes, smallestFoundBytes }: InfeasibleBudget): RematError {
  return new RematError(
    "INTERRUPTED",
    `${name}: interrupted before a plan within ${formatBytes(budgetBytes)} was found. ` +
      `The smallest peak so far is ${formatTypedBytes(smallestFoundBytes)}. Let it run longer, or raise --budget.`,
  );
}

/** Returns the error if the budget can be met, but not within the allowed overhead, or undefined if it can. */
export function tooDear(
  name: string,
  { budget, maxOverhead }: PlanOptions,
  { budgetBytes, overhead }: { readonly budgetBytes: number; readonly overhead: number },
): RematError | undefined {
  if (budget === undefined || maxOverhead === undefined || overhead <= maxOverhead) return undefined;
  return new RematError(
    "OVERHEAD",
    `${name}: the best plan found within ${formatBytes(budgetBytes)} costs ${formatOverhead(overhead)} more time, ` +
      `and --max-overhead allows ${formatTypedPercent(maxOverhead)}. ` +
      "Raise --budget or --time, or remove --budget to get the smallest peak for that overhead.",
  );
}

/** Returns the error if a method's plan exceeds the budget, or undefined if it does not. */
export function tooMuch(
  name: string,
  { method }: PlanOptions,
  { origin: { budgetBytes }, predicted: { peakBytes } }: Plan,
): RematError | undefined {
  if (method.budgetOf !== "step" || peakBytes <= budgetBytes) return undefined;
  return new RematError(
    budgetNotFound,
    `${name}: --method ${method.name} found nothing within ${formatBytes(budgetBytes)}: ` +
      `its plan has a simulated peak of ${formatTypedBytes(peakBytes)}. ` +
      "Raise --budget, or use --method schedule, which plans with the true peak.",
  );
}
