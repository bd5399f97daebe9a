/** The most bytes alive within a budget so far. @internal */
export class BudgetPeaks {
  /** Between two ops. */
  heldBytes = 0;
  /** At any moment, in the passes that are over. */
  mostBytes = 0;
  /** While there was no budget yet, or a smaller one. */
  measuredBytes = 0;

  /** `bytes` are alive between two ops. */
  hold(bytes: number): void {
    if (bytes > this.heldBytes) this.heldBytes = bytes;
  }

  /** As many were alive in a pass that was measured. */
  measure(bytes: number): void {
    this.measuredBytes = Math.max(this.measuredBytes, bytes);
  }

  /** Counts again: for what was alive until now there was no budget, or a smaller one. */
  restart(): void {
    this.measure(this.mostBytes);
    this.heldBytes = this.mostBytes = 0;
  }
}
