/** A seeded generator of numbers in [0, 1). The same seed gives the same numbers everywhere (mulberry32). @internal */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Returns an integer from 0 to `count - 1`. */
  below(count: number): number {
    return (this.next() * count) | 0;
  }
}
