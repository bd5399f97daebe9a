import type { Plan } from "@remat/trace";
import type { PassReport } from "../executor/executor.js";

/** An op that exceeded the budget, and by how much. */
export interface ExceededBudget {
  /** The budget, in bytes. */
  readonly budgetBytes: number;
  /** Peak memory while the op ran, in bytes. */
  readonly peakBytes: number;
  /** The op, with the shapes of its inputs. */
  readonly op: string;
}

/** Report of one forward and backward pass within a budget. */
export interface BudgetedStep extends PassReport {
  /** Peak memory that the plan predicted, in bytes. Undefined if the pass followed no plan. */
  readonly predictedBytes: number | undefined;
  /** The plan from `MemoryBudgetOptions.plan` that the pass followed to its end, if it did. */
  readonly plan: Plan | undefined;
  /** The op that exceeded the budget the most. Undefined if none did. */
  readonly exceeded: ExceededBudget | undefined;
}

/**
 * Result of planning the steps seen so far:
 *
 * - `planned`: there is a plan with a peak of `peakBytes`, weights and inputs included.
 * - `released`: early release alone meets the budget.
 * - `online`: no plan was found, so remat meets the budget op by op. `op` needs the most memory, and a plan exists from
 *   `neededBytes` upwards.
 * - `exceeded`: the last step exceeded the budget by `exceededBytes`.
 * - `none`: nothing has been planned yet.
 */
export type PlanningOutcome =
  | { readonly kind: "planned"; readonly peakBytes: number }
  | { readonly kind: "released" }
  | { readonly kind: "online"; readonly op: string | undefined; readonly neededBytes: number | undefined }
  | { readonly kind: "exceeded"; readonly op: string; readonly exceededBytes: number }
  | { readonly kind: "none" };

/** A memory budget in force, with the figures of the steps so far. */
export interface BudgetExecution {
  /**
   * The budget in bytes. A budget in percent is undefined until the peak of unmodified TensorFlow.js is known, and
   * grows with that peak.
   */
  readonly budgetBytes: number | undefined;
  /**
   * Peak memory in bytes if the steps so far ran again in unmodified TensorFlow.js. It includes data that the first
   * update allocates, such as optimizer slots. Known from the first step on if the budget is in percent, otherwise
   * undefined.
   */
  readonly stockPeakBytes: number | undefined;
  /**
   * The most bytes alive between two ops. For a budget in percent, counted since the step that measured the baseline.
   *
   * A budget in bytes is exceeded only in a step that fails with a `BudgetError`. A budget in percent is lifted for a
   * step larger than all before it, until the baseline peak of such a step has been measured. After that step this
   * figure may exceed `budgetBytes`, but not `stockPeakBytes`.
   */
  readonly heldBytes: number;
  /**
   * Peak memory in bytes, including scratch memory that kernels allocate while they run. The budget limits this figure.
   */
  readonly peakBytes: number;
  /**
   * Peak memory in bytes before there was a budget, or under a smaller one. This covers the passes that measure the
   * baseline for a budget in percent, and everything before them.
   */
  readonly measuredPeakBytes: number;
  /** Report of the last forward and backward pass. */
  readonly lastStep: BudgetedStep | undefined;
  /**
   * Resolves with the result of planning once no plan is in the making. Awaiting it keeps the process alive until then.
   * Otherwise the process may end without waiting for a plan.
   */
  readonly planned: Promise<PlanningOutcome>;
}
