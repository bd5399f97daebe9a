/** Sums over a run of points for least squares. */
export interface Sums {
  n: number;
  x: number;
  y: number;
  xx: number;
  xy: number;
  yy: number;
}

/**
 * Points of a curve in ascending order, with running sums, so that the sums over any run of neighbours take constant
 * time. Sums are relative to the centre of all points, since squares of numbers far from 0 would lose digits.
 */
export class PointSums {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly count: number;
  private readonly centerX: number;
  readonly centerY: number;
  /** Six sums for each number of points. */
  private readonly running: Float64Array;

  constructor(x: Float64Array, y: Float64Array) {
    const count = x.length;
    this.x = x;
    this.y = y;
    this.count = count;
    this.centerX = mean(x);
    this.centerY = mean(y);
    const running = new Float64Array(6 * (count + 1));
    for (let i = 0; i < count; i++) {
      const dx = x[i] - this.centerX;
      const dy = y[i] - this.centerY;
      const at = 6 * i;
      running[at + 6] = i + 1;
      running[at + 7] = running[at + 1] + dx;
      running[at + 8] = running[at + 2] + dy;
      running[at + 9] = running[at + 3] + dx * dx;
      running[at + 10] = running[at + 4] + dx * dy;
      running[at + 11] = running[at + 5] + dy * dy;
    }
    this.running = running;
  }

  /** Sum of squares of all y about their mean, the scale of a residual. */
  get spread(): number {
    return this.running[6 * this.count + 5];
  }

  /**
   * Returns sums over the points from `from` up to, but not including, `to`. x counts from `origin`, y from the centre.
   */
  read(from: number, to: number, origin: number, into: Sums): Sums {
    if (to - from <= summedDirectly) return this.add(from, to, origin, into);
    const { running } = this;
    const a = 6 * from;
    const b = 6 * to;
    const shift = this.centerX - origin;
    const n = running[b] - running[a];
    const x = running[b + 1] - running[a + 1];
    into.n = n;
    into.y = running[b + 2] - running[a + 2];
    into.x = x + shift * n;
    into.xx = running[b + 3] - running[a + 3] + 2 * shift * x + shift * shift * n;
    into.xy = running[b + 4] - running[a + 4] + shift * into.y;
    into.yy = running[b + 5] - running[a + 5];
    return into;
  }

  private add(from: number, to: number, origin: number, into: Sums): Sums {
    into.n = to - from;
    into.x = 0;
    into.y = 0;
    into.xx = 0;
    into.xy = 0;
    into.yy = 0;
    for (let i = from; i < to; i++) {
      const x = this.x[i] - origin;
      const y = this.y[i] - this.centerY;
      into.x += x;
      into.y += y;
      into.xx += x * x;
      into.xy += x * y;
      into.yy += y * y;
    }
    return into;
  }
}

/**
 * Runs of up to this many points are added directly. That is as fast, and differences of running sums could be mostly
 * rounding error.
 */
const summedDirectly = 8;

export function emptySums(): Sums {
  return { n: 0, x: 0, y: 0, xx: 0, xy: 0, yy: 0 };
}

function mean(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return values.length === 0 ? 0 : sum / values.length;
}
