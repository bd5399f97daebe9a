/**
 * The best candidates met so far, by residual: those that are worse than the best by less than `margin`, and at most `capacity` of them. Of
 * equal ones those met first.
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

  /** A candidate must have a smaller residual than this to come in. */
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
