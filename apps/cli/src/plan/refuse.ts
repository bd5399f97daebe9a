import { budgetNotFound } from "@remat/memory";
import { formatOverhead, formatTypedPercent } from "@remat/reporting";
import { type InfeasibleBudget } from "@remat/reporting/documents";
import { type Plan, RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import type { PlanOptions } from "./plan-options.js";

/**
 * Returns the error that ends a plan for a model as it is used.
 *
 * @param typed the model, as it is typed in a command
 */
export function nothingToRecompute(name: string, typed: string): RematError {
  return new RematError(
    "PLAN_PREDICTION",
    `${name} as it is used (--predict) has no backward pass, so that nothing is kept for one and nothing could be recomputed: expected a training step. What it holds tells ${shell`remat memory ${shell.path(typed)} --predict`}, and which batch fits ${shell`remat estimate ${shell.path(typed)} --predict`}; leave --predict out to plan training.`,
  );
}

/** Returns the error that ends a command that was interrupted too early. */
export function interruptedEarly({ name, budgetBytes, smallestFoundBytes }: InfeasibleBudget): RematError {
  return new RematError(
    "INTERRUPTED",
    `${name}: interrupted before anything within ${formatBytes(budgetBytes)} was found; the smallest peak until then is ${formatTypedBytes(smallestFoundBytes)}. Let it run longer, or give a larger --budget.`,
  );
}

/** Returns the error that ends a command whose budget can be met, but not within the overhead; undefined where it can. */
export function tooDear(
  name: string,
  { budget, maxOverhead }: PlanOptions,
  { budgetBytes, overhead }: { readonly budgetBytes: number; readonly overhead: number },
): RematError | undefined {
  if (budget === undefined || maxOverhead === undefined || overhead <= maxOverhead) return undefined;
  return new RematError(
    "OVERHEAD",
    `${name}: the best plan found within ${formatBytes(budgetBytes)} costs ${formatOverhead(overhead)} more, --max-overhead allows ${formatTypedPercent(maxOverhead)}. ` +
      "Give a larger --budget or more --time, or leave --budget out to get the smallest peak for that overhead.",
  );
}

/** Returns the error that ends a command whose method made a plan that holds more than the budget; undefined where it does not. */
export function tooMuch(
  name: string,
  { method }: PlanOptions,
  { origin: { budgetBytes }, predicted: { peakBytes } }: Plan,
): RematError | undefined {
  if (method.budgetOf !== "step" || peakBytes <= budgetBytes) return undefined;
  return new RematError(
    budgetNotFound,
    `${name}: --method ${method.name} found nothing within ${formatBytes(budgetBytes)}: simulated, its plan holds ${formatTypedBytes(peakBytes)}. Give a larger --budget, or take --method schedule, which plans with the true peak.`,
  );
}
