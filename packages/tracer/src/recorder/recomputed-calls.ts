/** Notified when the forward pass of a module call is recomputed. */
interface RecomputationListener {
  enter(call: number): void;
  exit(call: number): void;
}

/**
 * Finds the module calls that a partial recomputation of the forward pass repeats completely. Such a call is open from
 * its first replayed op to its last. Calls nest.
 *
 * @internal
 */
export class RecomputedCalls {
  private readonly listener: RecomputationListener;
  private readonly parents: number[] = [];
  /** Number of forward ops in each call, nested calls included. */
  private readonly opCounts: number[] = [];
  private whole: ReadonlySet<number> = new Set();
  private readonly entered: number[] = [];

  constructor(listener: RecomputationListener) {
    this.listener = listener;
  }

  callMade(call: number, parent: number): void {
    this.parents[call] = parent;
    this.opCounts[call] = 0;
  }

  countOp(call: number): void {
    for (let at = call; at >= 0; at = this.parents[at]) this.opCounts[at]++;
  }

  /** Starts a recomputation, given the call of each op. */
  start(callOfOps: Iterable<number>): void {
    const counts = new Map<number, number>();
    for (const call of callOfOps)
      for (let at = call; at >= 0; at = this.parents[at]) counts.set(at, (counts.get(at) ?? 0) + 1);
    this.whole = new Set([...counts].filter(([call, count]) => count === this.opCounts[call]).map(([call]) => call));
  }

  /** Opens and closes calls before an op of `call` is replayed. */
  reach(call: number): void {
    const path: number[] = [];
    for (let at = call; at >= 0; at = this.parents[at]) if (this.whole.has(at)) path.unshift(at);
    let common = 0;
    while (common < path.length && this.entered[common] === path[common]) common++;
    this.leaveTo(common);
    for (const each of path.slice(common)) {
      this.entered.push(each);
      this.listener.enter(each);
    }
  }

  end(): void {
    this.leaveTo(0);
    this.whole = new Set();
  }

  private leaveTo(depth: number): void {
    while (this.entered.length > depth) this.listener.exit(this.entered.pop() as number);
  }
}
