/**
 * Partial choices by ascending weight, in growing columns. No choice is better than another in both weight and profit.
 */
export class Front {
  length = 0;
  weight: Float64Array = new Float64Array(1024);
  profit: Float64Array = new Float64Array(1024);
  /** Upper bound on the profit that can be reached from the state. */
  bound: Float64Array = new Float64Array(1024);
  /** The latest change that led to the state, in a {@link History}, or -1 for none. */
  change: Int32Array = new Int32Array(1024);

  push(weight: number, profit: number, bound: number, change: number): void {
    if (this.length === this.weight.length) this.grow();
    this.weight[this.length] = weight;
    this.profit[this.length] = profit;
    this.bound[this.length] = bound;
    this.change[this.length++] = change;
  }

  /** Keeps the `limit` states with the highest bounds. Returns the highest bound among the pruned ones, or 0. */
  shrink(limit: number): number {
    if (this.length <= limit) return 0;
    const bounds = this.bound.slice(0, this.length).sort();
    const least = bounds[this.length - limit];
    // Among states with exactly that bound, which can be all of them, keep some of every weight.
    let [ties, tiesKept] = [0, 0];
    for (let i = 0; i < this.length; i++) if (this.bound[i] === least) ties++;
    for (let i = this.length - limit; i < this.length && bounds[i] === least; i++) tiesKept++;
    let [kept, pruned, tie] = [0, 0, 0];
    const isChosen = () => Math.floor(((tie + 1) * tiesKept) / ties) > Math.floor((tie++ * tiesKept) / ties);
    for (let i = 0; i < this.length; i++) {
      if (this.bound[i] > least || (this.bound[i] === least && isChosen())) {
        this.weight[kept] = this.weight[i];
        this.profit[kept] = this.profit[i];
        this.bound[kept] = this.bound[i];
        this.change[kept++] = this.change[i];
      } else pruned = Math.max(pruned, this.bound[i]);
    }
    this.length = kept;
    return pruned;
  }

  private grow(): void {
    const size = this.length * 2;
    const weight = new Float64Array(size);
    const profit = new Float64Array(size);
    const bound = new Float64Array(size);
    const change = new Int32Array(size);
    weight.set(this.weight);
    profit.set(this.profit);
    bound.set(this.bound);
    change.set(this.change);
    Object.assign(this, { weight, profit, bound, change });
  }
}

/** The places that were changed on the way to each state, as a tree in columns. */
export class History {
  length = 0;
  private before: Int32Array = new Int32Array(4096);
  private place: Int32Array = new Int32Array(4096);

  add(before: number, place: number): number {
    if (this.length === this.before.length) {
      const before = new Int32Array(this.length * 2);
      const place = new Int32Array(this.length * 2);
      before.set(this.before);
      place.set(this.place);
      this.before = before;
      this.place = place;
    }
    this.before[this.length] = before;
    this.place[this.length] = place;
    return this.length++;
  }

  /** Calls `flip` with every place that was changed up to `change`. */
  replay(change: number, flip: (place: number) => void): void {
    for (let at = change; at >= 0; at = this.before[at]) flip(this.place[at]);
  }
}
