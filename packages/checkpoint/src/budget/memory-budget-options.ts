import type { Plan } from "@remat/trace";

/** Options of `withMemoryBudget` and `openMemoryBudget`. */
export interface MemoryBudgetOptions {
  /**
   * True to decide op by op in every step, for control flow that differs from step to step. By default, steps do so
   * only until there is a plan.
   */
  readonly online?: boolean;
  /**
   * A plan to start with, or several plans for steps with different ops. Make one before the first step, for example
   * from a fake-mode trace. A pass follows it if its ops are those of the plan and the plan meets the budget.
   */
  readonly plan?: Plan | readonly Plan[];
  /** Planning time for each new sequence of ops, in milliseconds. Default: 5000. */
  readonly planningMs?: number;
  /**
   * True if an op that does not fit fails with a `BudgetError`. Default: true. If false, the op runs, `lastStep`
   * reports the excess, and Node prints one warning per process (`BUDGET_EXCEEDED`).
   */
  readonly strict?: boolean;
}
