import type { Plan } from "@remat/trace";
import type { PassReport } from "../executor/executor.js";

/** What has held more than a budget. */
export interface ExceededBudget {
  readonly budgetBytes: number;
  /** The most bytes alive while it ran. */
  readonly peakBytes: number;
  /** The op, with the shapes of its inputs. */
  readonly op: string;
}

/** What a forward and backward pass within a budget came to. */
export interface BudgetedStep extends PassReport {
  /** What its plan said that it would hold at most, if it followed one. */
  readonly predictedBytes: number | undefined;
  /** The given plan that it followed to its end. */
  readonly plan: Plan | undefined;
  /** What went beyond the budget; undefined where nothing did. */
  readonly exceeded: ExceededBudget | undefined;
}

/**
 * What came of planning the steps that were seen: there is a plan, which is to hold `peakBytes` in all; early release alone keeps the budget; no plan was found, and the
 * budget is kept `online`, since `op` needs most (`neededBytes` in all would do with a plan); the last step has held more than the budget, by `exceededBytes`; or
 * nothing has been planned.
 */
export type PlanningOutcome =
  | { readonly kind: "planned"; readonly peakBytes: number }
  | { readonly kind: "released" }
  | { readonly kind: "online"; readonly op: string | undefined; readonly neededBytes: number | undefined }
  | { readonly kind: "exceeded"; readonly op: string; readonly exceededBytes: number }
  | { readonly kind: "none" };

/** A budget that is being kept. */
export interface BudgetExecution {
  /** In bytes; undefined until stock's peak is known, of which it is a part, and with which it grows. */
  readonly budgetBytes: number | undefined;
  /**
   * Peak memory of unmodified TensorFlow.js, in bytes, for the steps so far if they run again. So it includes the data that the first update leaves behind, e.g. slots of the optimizer. Known from the
   * first step on if the budget is a part of it.
   */
  readonly stockPeakBytes: number | undefined;
  /**
   * The most bytes alive between two ops; of a budget that is a part of stock's peak, since the step that showed it. A budget in bytes is exceeded only in a step that fails with a `BudgetError`. A part of stock's peak is
   * lifted for a step larger than all before it, until the stock peak of such a step has been measured. After that step this may exceed `budgetBytes`, and is at most `stockPeakBytes`.
   */
  readonly heldBytes: number;
  /** The most bytes alive at any moment, which is what the budget is of: with what a kernel allocates for itself while it runs. */
  readonly peakBytes: number;
  /** The most bytes alive while there was no budget yet, or a smaller one: of a budget that is a part of stock's peak, in the passes that showed what that is, and before. */
  readonly measuredPeakBytes: number;
  /** Of the last forward and backward pass. */
  readonly lastStep: BudgetedStep | undefined;
  /** Settled when no plan is being made, with what came of it. Who waits for it keeps the process alive, which ends without waiting for a plan otherwise. */
  readonly planned: Promise<PlanningOutcome>;
}
