import type { Plan } from "@remat/trace";

export interface MemoryBudgetOptions {
  /** Decide while the step runs, always; for control flow that differs from step to step. Default: only until there is a plan. */
  readonly online?: boolean;
  /** A plan to begin with, or several, for steps of different kinds: made before the first step, e.g. from a trace in fake mode. Followed while it fits, if it keeps the budget. */
  readonly plan?: Plan | readonly Plan[];
  /** How long a plan may take to be made, all in all, in milliseconds, for each new kind of step; 5000 if not given. */
  readonly planningMs?: number;
  /**
   * Whether what cannot be kept within the budget is refused by a `BudgetError`; true if not given. Else it runs all the same: `lastStep` tells what was beyond
   * the budget, and a warning says so, once in a process (Node, `BUDGET_EXCEEDED`).
   */
  readonly strict?: boolean;
}
