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
 * - `planned`: there is a plan. Its peak, including weights and inputs, is `peakBytes`.
 * - `released`: early release alone meets the budget.
 * - `online`: no plan was found, so remat meets the budget op by op. `op` needs the most memory. A budget of
 *   `neededBytes` is large enough for a plan.
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
   * update allocates, such as optimizer slots. If the budget is in percent, this is known after the first step.
   * Otherwise it is undefined.
   */
  readonly stockPeakBytes: number | undefined;
  /**
   * The most bytes alive between two ops. For a budget in percent, this counts from the step that measured the
   * baseline.
   *
   * A budget in bytes is exceeded only in a step that fails. If a step is larger than all before it, a budget in percent
   * is lifted until the baseline peak of such a step has been measured. This figure may then exceed `budgetBytes`, but
   * not `stockPeakBytes`.
   */
  readonly heldBytes: number;
  /**
   * Peak memory in bytes, including scratch memory that kernels allocate while they run. The budget limits this figure.
   */
  readonly peakBytes: number;
  /**
   * Peak memory in bytes before there was a budget, or under an earlier, smaller budget. This covers the passes that
   * measure the baseline for a budget in percent, and everything before them.
   */
  readonly measuredPeakBytes: number;
  /** Report of the last forward and backward pass. */
  readonly lastStep: BudgetedStep | undefined;
  /**
   * Resolves with the result of planning once nothing is being planned. Awaiting it keeps the process alive until then.
   * Otherwise the process may end before planning does.
   */
  readonly planned: Promise<PlanningOutcome>;
}
