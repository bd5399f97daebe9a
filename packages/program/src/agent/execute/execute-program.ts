import { applyPlan, openMemoryBudget, releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { RematError, readPlan } from "@remat/trace";
import { Guard } from "../../outside/guard.js";
import { beforeProcessEvents } from "../../outside/process-events.js";
import type { ExecOrder } from "../../program-order.js";
import type { ThreadReporter } from "../thread-reporter.js";
import { EarlyReleaseWatcher } from "./early-release-watcher.js";
import { ExecutionWatcher } from "./execution-watcher.js";
import { refuseOwnExecutors } from "./refuse-own-executors.js";

/** Keeps all steps of this thread to what is ordered, and tells at its end what has come of it. */
export function executeProgram(order: ExecOrder, reporter: ThreadReporter): void {
  const opened: { watcher?: ExecutionWatcher | EarlyReleaseWatcher } = {};
  let close = (): void => {};
  // What executes goes on: the program keeps to its budget though nobody counts.
  const guard = new Guard((error) => {
    close();
    reporter.broke(error);
  });
  beforeProcessEvents({
    // What nobody catches ends the program; what we throw, with the next step in it, is told.
    uncaughtExceptionMonitor(error) {
      // The thread may end without an exit event, if a library throws in its own handler.
      reporter.executed = guard.run(() => opened.watcher?.executed());
      if (error instanceof RematError) reporter.fail(error.message);
      else reporter.write();
    },
    exit() {
      reporter.executed = guard.run(() => opened.watcher?.executed());
      reporter.end();
    },
  });
  opened.watcher = watcherOf(order, reporter, guard);
  close = openDispatchMode(guard.mode(opened.watcher));
}

/** What it executes is open before it is, so that it sees passes from outside. */
function watcherOf(
  { budget, plans: paths = [], updateInBackward = false }: ExecOrder,
  reporter: ThreadReporter,
  guard: Guard,
): ExecutionWatcher | EarlyReleaseWatcher {
  const decides = [
    ...(budget === undefined ? [] : ["--budget", String(budget)]),
    ...paths.flatMap((path) => ["--plan", path]),
  ];
  if (decides.length > 0) refuseOwnExecutors(decides);
  const texts = paths.map((path) => reporter.io.readNeeded(path));
  // Without one of them the others would stand in for it: then the program runs without plans, and it is said which could not be read.
  const plans = texts.includes(undefined) ? [] : texts.map((text) => readPlan(text!));
  if (budget !== undefined) {
    const { execution } = openMemoryBudget(budget, plans.length === 0 ? {} : { plan: plans });
    return new ExecutionWatcher(execution, plans, reporter, guard);
  }
  if (plans.length > 0) return new ExecutionWatcher(applyPlan(plans, { onMismatch: "store" }), plans, reporter, guard);
  releaseEarly({ updateInBackward });
  return new EarlyReleaseWatcher(reporter, guard);
}
