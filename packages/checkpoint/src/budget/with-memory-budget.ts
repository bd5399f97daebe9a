import { openDispatchMode, registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { type MemoryBudget, parseBudget } from "@remat/memory";
import { checkArgument, checkCallOptions, checkOptionNames, isFlag, isTimeMs, type OptionChecks } from "@remat/trace";
import { checkBackend } from "../executor/supported-backend.js";
import type { BudgetExecution } from "./budget-execution.js";
import { BudgetKeeper } from "./budget-keeper.js";
import type { MemoryBudgetOptions } from "./memory-budget-options.js";

/**
 * Runs `fn`, synchronous or not, and keeps every training step in it within a budget of live bytes. The budget covers
 * weights, gradients, optimizer slots, inputs, data kept for recomputation, and scratch memory of kernels. Losses,
 * gradients and weights are bitwise identical to those of unmodified TensorFlow.js.
 *
 * The first step of each shape meets the budget by deciding op by op (dynamic rematerialization) and is recorded. A
 * background thread makes a plan from the recording. Training follows the plan once `fn` next awaits something, unless
 * the plan would recompute more than deciding op by op. A step that differs from every plan meets the budget without
 * one, and is then planned itself.
 *
 * A budget in percent is a share of the highest peak of unmodified TensorFlow.js seen so far. The first pass that
 * computes a given set of gradients measures that peak. It runs with early release only. If a later pass would use
 * more, remat measures again in a pass like it, and the budget grows (Node warning `BUDGET_RAISED`).
 *
 * The budget limits tensors. The process also contains the backend's library and JavaScript. If its resident memory
 * grows by more than one and a half times the budget plus 64 MB, Node prints a warning with advice, once per process
 * (`RESIDENT_OVER_BUDGET`).
 *
 * If an op of a pass does not fit, the pass continues in as little memory as possible, and fails at its end. The error
 * then names a budget that is enough. If too little host memory is free for that, or on webgl and webgpu, it fails at
 * the op.
 *
 * @throws BudgetError from the step that cannot meet the budget. It names an op that does not fit, and a larger budget.
 * @throws RematError `BUDGET` for an invalid budget, `ARGUMENT` for other invalid arguments, `BACKEND_UNSUPPORTED` on
 * third-party backends
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

/** A budget that stays in force until it is closed. */
export interface OpenBudget {
  /** Figures of the steps so far. */
  readonly execution: BudgetExecution;
  /** Ends the budget and restores the engine. A second call does nothing. */
  close(): void;
}

/**
 * Keeps every training step within a budget, from now on until you close it. It works like `withMemoryBudget`. You may
 * open it before a backend is ready. The backend is checked when the first step begins.
 *
 * @throws RematError `BUDGET` for an invalid budget; steps throw the errors of `withMemoryBudget`
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
