import type { Budget } from "@remat/memory";
import { StockShare } from "./stock-share.js";

/**
 * The budget that steps are kept within now: a number of bytes, or a share of the peak memory of unmodified TensorFlow.js.
 *
 * @internal
 */
export class BudgetLimit {
  /** Undefined until the peak is known of which it is a share. */
  bytes: number | undefined;
  /** Undefined for a budget in bytes. */
  readonly share: StockShare | undefined;

  constructor(budget: Budget) {
    if ("fraction" in budget) this.share = new StockShare(budget.fraction);
    else this.bytes = budget.bytes;
  }

  /** Bytes that may be alive; infinite while a share is not known yet, or lifted for a step that is measured. */
  get limitBytes(): number {
    return this.bytes === undefined || this.share?.isLifted === true ? Number.POSITIVE_INFINITY : this.bytes;
  }

  /** Takes over what the share has learned. */
  followShare(): void {
    if (this.share !== undefined) this.bytes = this.share.budgetBytes;
  }
}
