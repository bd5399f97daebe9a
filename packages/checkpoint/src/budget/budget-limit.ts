import type { Budget } from "@remat/memory";
import { StockShare } from "./stock-share.js";

/** The current budget: a number of bytes, or a share of the peak memory of unmodified TensorFlow.js. @internal */
export class BudgetLimit {
  /** The budget in bytes. If the budget is a share of a peak, it is undefined until that peak is known. */
  bytes: number | undefined;
  /**
   * Bytes that the current pass may use although it has exceeded the budget. It fails at its end, and uses no more
   * until then than it needs.
   */
  overrunBytes = 0;
  /** The share of the baseline peak. Undefined for a budget in bytes. */
  readonly share: StockShare | undefined;

  constructor(budget: Budget) {
    if ("fraction" in budget) this.share = new StockShare(budget.fraction);
    else this.bytes = budget.bytes;
  }

  /** Bytes that may be alive. Infinite while the share is unknown, or lifted for a step that is being measured. */
  get limitBytes(): number {
    if (this.bytes === undefined || this.share?.isLifted === true) return Number.POSITIVE_INFINITY;
    return Math.max(this.bytes, this.overrunBytes);
  }

  /**
   * Returns whether memory is available after all, because unmodified TensorFlow.js would use more than measured so far.
   * The budget has then grown, or is lifted. Everything alive between passes would also be alive in unmodified
   * TensorFlow.js.
   *
   * @param asked key of the gradients that the current pass computes, or undefined between passes
   */
  lift(neededBytes: number, asked: string | undefined): boolean {
    const { share } = this;
    if (share === undefined) return false;
    const isRaised = asked === undefined && share.raise(neededBytes);
    if (!isRaised && !share.lift(asked)) return false;
    this.followShare();
    return true;
  }

  /** Updates the limit from the measurements of the share. */
  followShare(): void {
    if (this.share !== undefined) this.bytes = this.share.budgetBytes;
  }
}
