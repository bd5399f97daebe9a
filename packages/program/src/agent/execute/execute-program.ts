import { readFileSync } from "node:fs";
import { applyPlan, openMemoryBudget, releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { RematError, readPlan } from "@remat/trace";
import type { ExecOrder } from "../../program-order.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { EarlyReleaseWatcher } from "./early-release-watcher.js";
import { ExecutionWatcher } from "./execution-watcher.js";
import { refuseOwnExecutors } from "./refuse-own-executors.js";

/** Keeps all steps of this thread to what is ordered, and tells at its end what has come of it. */
export function executeProgram(order: ExecOrder, reporter: ThreadReporter): void {
  // What nobody catches ends the program; what we throw, with the next step in it, is told.
  process.on("uncaughtExceptionMonitor", (error) => {
    if (error instanceof RematError) reporter.fail(error.message);
  });
  const watcher = watcherOf(order, reporter);
  openDispatchMode(watcher);
  process.on("exit", () => {
    reporter.executed = watcher.executed();
    reporter.write();
  });
}

/** What it executes is open before it is, so that it sees passes from outside. */
function watcherOf(
  { budget, plans: paths = [], updateInBackward = false }: ExecOrder,
  reporter: ThreadReporter,
): ExecutionWatcher | EarlyReleaseWatcher {
  const decides = [...(budget === undefined ? [] : [`--budget ${budget}`]), ...paths.map((path) => `--plan ${path}`)];
  if (decides.length > 0) refuseOwnExecutors(decides.join(" "));
  const plans = paths.map((path) => readPlan(readFileSync(path, "utf8")));
  if (budget !== undefined) {
    const { execution } = openMemoryBudget(budget, plans.length === 0 ? {} : { plan: plans });
    return new ExecutionWatcher(execution, plans, reporter);
  }
  if (plans.length > 0) return new ExecutionWatcher(applyPlan(plans, { onMismatch: "store" }), plans, reporter);
  releaseEarly({ updateInBackward });
  return new EarlyReleaseWatcher(reporter);
}
