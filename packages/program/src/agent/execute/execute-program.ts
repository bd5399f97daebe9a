import { readFileSync } from "node:fs";
import { openMemoryBudget, releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { RematError, readPlan } from "@remat/trace";
import type { ExecOrder } from "../../program-order.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { BudgetWatcher } from "./budget-watcher.js";
import { EarlyReleaseWatcher } from "./early-release-watcher.js";

/** More than any machine has: for a plan that is followed without a budget. */
const unlimited = Number.MAX_SAFE_INTEGER;

/** Keeps all steps of this thread to what is ordered, and tells at its end what has come of it. */
export function executeProgram({ budget, plan }: ExecOrder, reporter: ThreadReporter): void {
  // What nobody catches ends the program; what we throw, with the next step in it, is told.
  process.on("uncaughtExceptionMonitor", (error) => {
    if (error instanceof RematError) reporter.fail(error.message);
  });
  const watcher = watcherOf(budget, plan, reporter);
  openDispatchMode(watcher);
  process.on("exit", () => {
    reporter.executed = watcher.executed();
    reporter.write();
  });
}

/** What it executes is open before it is, so that it sees passes from outside. */
function watcherOf(
  budget: string | undefined,
  plan: string | undefined,
  reporter: ThreadReporter,
): BudgetWatcher | EarlyReleaseWatcher {
  if (budget === undefined && plan === undefined) {
    releaseEarly();
    return new EarlyReleaseWatcher(reporter);
  }
  const { execution } = openMemoryBudget(budget ?? unlimited, {
    ...(plan !== undefined && { plan: readPlan(readFileSync(plan, "utf8")) }),
    // Without a budget there is nothing to plan for.
    online: budget === undefined,
  });
  return new BudgetWatcher(execution, budget !== undefined, reporter);
}
