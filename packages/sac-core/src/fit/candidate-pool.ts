/**
 * The best candidates so far, by residual. It keeps those within `margin` of the best, and at most `capacity` of them.
 * If two are equal, the earlier one is kept.
 */
export class CandidatePool {
  /** Inner breaks of each candidate. */
  readonly breaks: (readonly number[])[] = [];
  private readonly residuals: number[] = [];
  private readonly capacity: number;
  private readonly margin: number;

  constructor(capacity: number, margin: number) {
    this.capacity = capacity;
    this.margin = margin;
  }

  /** A candidate needs a residual below this to be kept. */
  get bound(): number {
    const { residuals } = this;
    if (residuals.length === 0) return Infinity;
    const nearBest = residuals[0] + this.margin;
    return residuals.length < this.capacity ? nearBest : Math.min(nearBest, residuals[residuals.length - 1]);
  }

  offer(residual: number, breaks: readonly number[]): void {
    if (!(residual < this.bound)) return;
    let at = this.residuals.length;
    while (at > 0 && this.residuals[at - 1] > residual) at--;
    this.residuals.splice(at, 0, residual);
    this.breaks.splice(at, 0, breaks);
    if (this.residuals.length > this.capacity) {
      this.residuals.pop();
      this.breaks.pop();
    }
  }
}
