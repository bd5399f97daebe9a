/** Peak memory under a budget so far, in bytes. @internal */
export class BudgetPeaks {
  /** The most bytes alive between two ops. */
  heldBytes = 0;
  /** The most bytes alive at any moment of the finished passes. */
  mostBytes = 0;
  /** The most bytes alive before there was a budget, or under a smaller one. */
  measuredBytes = 0;

  /** Records that `bytes` are alive between two ops. */
  hold(bytes: number): void {
    if (bytes > this.heldBytes) this.heldBytes = bytes;
  }

  /** Records that `bytes` were alive in a measured pass. */
  measure(bytes: number): void {
    this.measuredBytes = Math.max(this.measuredBytes, bytes);
  }

  /** Starts counting again after the first budget is set, or a larger one. */
  restart(): void {
    this.measure(this.mostBytes);
    this.heldBytes = this.mostBytes = 0;
  }
}
