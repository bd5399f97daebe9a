import { openDispatchMode, registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { type MemoryBudget, parseBudget } from "@remat/memory";
import { checkArgument, checkCallOptions, checkOptionNames, isFlag, isTimeMs, type OptionChecks } from "@remat/trace";
import { checkBackend } from "../executor/supported-backend.js";
import type { BudgetExecution } from "./budget-execution.js";
import { BudgetKeeper } from "./budget-keeper.js";
import type { MemoryBudgetOptions } from "./memory-budget-options.js";

/**
 * Runs `fn`, synchronous or not, with every training step in it within a budget of live bytes, by buffer: weights, gradients, optimizer slots, inputs
 * what is held to recompute others, and what kernels allocate for themselves included. Losses, gradients and weights are those of stock to the bit.
 *
 * The first step of each shape keeps the budget as it goes along (dynamic rematerialization) and is recorded; from that a plan is made in a thread
 * beside the training, and followed from when `fn` next awaits something, unless it would recompute more. A step that differs from every plan keeps the budget without
 * one and is planned in its turn. A budget in percent is a part of the most that stock has been seen to take: the first pass for each set of gradients runs with early release alone, which tells what
 * stock would hold, and so does one like a pass that would take more; then the budget grows (Node, `BUDGET_RAISED`).
 *
 * Tensors keep to the budget; the process has the backend's library and JavaScript besides. Where its resident memory has grown by more than one and a
 * half times the budget and 64 MB, a warning says so, once in a process, with what to do (Node, `RESIDENT_OVER_BUDGET`).
 *
 * @throws BudgetError from the step that cannot be kept within the budget, naming the op that has no room and what it has room within; RematError
 * `BUDGET` for what is no budget, `ARGUMENT` for other arguments that are none, `BACKEND_UNSUPPORTED` on backends other than tfjs's own
 * @example
 * await withMemoryBudget("2GB", () => model.fit(x, y, { epochs: 3 }));
 */
export function withMemoryBudget<T>(
  budget: MemoryBudget,
  fn: (execution: BudgetExecution) => T,
  options: MemoryBudgetOptions = {},
): T {
  const parsed = parseBudget(budget);
  checkArgument(
    typeof fn === "function",
    "withMemoryBudget's fn",
    fn,
    "a function that trains, such as () => model.fit(x, y)",
  );
  checkBudgetOptions("withMemoryBudget", options);
  const keeper = new BudgetKeeper(parsed, options);
  checkBackend();
  return withDispatchMode(keeper, () => {
    keeper.meter.count(registeredVariables());
    keeper.resident.begin(keeper.meter.liveBytes);
    return fn(keeper);
  });
}

function checkBudgetOptions(call: string, options: MemoryBudgetOptions): void {
  checkCallOptions(call, options, budgetOptions);
  checkOptionNames(call, options, [...Object.keys(budgetOptions), "plan"]);
}

const budgetOptions: OptionChecks = {
  planningMs: [isTimeMs, "milliseconds from 0 up"],
  online: [isFlag, "true or false"],
  strict: [isFlag, "true or false"],
};

/** A budget that is kept until it is closed. */
export interface OpenBudget {
  readonly execution: BudgetExecution;
  /** Ends it: the engine is as before. A second call does nothing. */
  close(): void;
}

/**
 * Keeps every training step from here on within a budget, as `withMemoryBudget` does, until it is closed. May be opened before a backend is there: it
 * is asked about when the first step begins.
 *
 * @throws RematError `BUDGET` for what is no budget; steps throw what they do in `withMemoryBudget`
 * @example
 * const { execution, close } = openMemoryBudget("2GB");
 * await model.fit(x, y);
 * close();
 */
export function openMemoryBudget(budget: MemoryBudget, options: MemoryBudgetOptions = {}): OpenBudget {
  const parsed = parseBudget(budget);
  checkBudgetOptions("openMemoryBudget", options);
  const execution = new BudgetKeeper(parsed, options);
  const close = openDispatchMode(execution);
  execution.meter.count(registeredVariables());
  return { execution, close };
}
