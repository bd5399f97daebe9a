import type { DistinctPoints } from "./distinct-points.js";

/**
 * The least-squares line through a run of points that grows by one point at a time. Its residual only ever adds squares
 * (Plackett 1950), so it keeps digits that differences of sums of squares would lose.
 */
export class RunningLine {
  /** Sum of weights. */
  weight = 0;
  residual = 0;
  slope = 0;
  /** Weighted sum of squared distances of x from its mean. */
  spreadX = 0;
  private meanX = 0;
  private meanY = 0;
  private product = 0;

  clear(): void {
    this.weight = 0;
    this.residual = 0;
    this.slope = 0;
    this.spreadX = 0;
    this.meanX = 0;
    this.meanY = 0;
    this.product = 0;
  }

  add(points: DistinctPoints, index: number): void {
    const x = points.x[index];
    const y = points.y[index];
    const weight = points.weight[index];
    const dx = x - this.meanX;
    const dy = y - this.meanY;
    if (this.spreadX > 0) {
      const off = dy - this.slope * dx;
      this.residual += (weight * off * off) / (1 + weight * (1 / this.weight + (dx * dx) / this.spreadX));
    }
    this.weight += weight;
    const share = weight / this.weight;
    this.meanX += share * dx;
    this.meanY += share * dy;
    const moved = weight * dx;
    this.spreadX += moved * (x - this.meanX);
    this.product += moved * (y - this.meanY);
    if (this.spreadX > 0) this.slope = this.product / this.spreadX;
  }

  /** Height of the line at `x`. */
  at(x: number): number {
    return this.meanY + this.slope * (x - this.meanX);
  }

  /** Cost per squared height of moving the line up at `x`, if it may turn freely. */
  stiffnessAt(x: number): number {
    const distance = x - this.meanX;
    return 1 / (1 / this.weight + (this.spreadX > 0 ? (distance * distance) / this.spreadX : 0));
  }

  /** Change of the height at `x` per change of the height at `held`, if the line turns freely. */
  following(x: number, held: number): number {
    const distance = held - this.meanX;
    const turned = this.spreadX > 0 ? distance / this.spreadX : 0;
    return (1 / this.weight + (x - this.meanX) * turned) / (1 / this.weight + distance * turned);
  }

  /** Position of the mean of x between `left` (0) and `right` (1). */
  meanBetween(left: number, right: number): number {
    return (this.meanX - left) / (right - left);
  }
}
