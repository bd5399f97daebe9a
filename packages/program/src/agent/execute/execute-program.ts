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

/** Applies the order to all steps of this thread and reports the outcome at its end. */
export function executeProgram(order: ExecOrder, reporter: ThreadReporter): void {
  const opened: { watcher?: ExecutionWatcher | EarlyReleaseWatcher } = {};
  let close = (): void => {};
  // The execution itself continues, so that the program keeps to its budget even if it is no longer measured.
  const guard = new Guard((error) => {
    close();
    reporter.broke(error);
  });
  beforeProcessEvents({
    // An uncaught error ends the program. Errors that remat throws are reported, with the next step to take.
    uncaughtExceptionMonitor(error) {
      // The thread may end without an exit event if a library throws in its own handler.
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

/** Opens the execution before the watcher, so that the watcher sees passes from outside. */
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
  // If one plan cannot be read, another could be applied in its place. The program then runs without plans, and the
  // unreadable one is reported.
  const plans = texts.includes(undefined) ? [] : texts.map((text) => readPlan(text!));
  if (budget !== undefined) {
    const { execution } = openMemoryBudget(budget, plans.length === 0 ? {} : { plan: plans });
    return new ExecutionWatcher(execution, plans, reporter, guard);
  }
  if (plans.length > 0) return new ExecutionWatcher(applyPlan(plans, { onMismatch: "store" }), plans, reporter, guard);
  releaseEarly({ updateInBackward });
  return new EarlyReleaseWatcher(reporter, guard);
}
