/** The limits within which a search lowers its budget. @internal */
export interface LoweringLimits {
  /** The highest cost of a schedule that is wanted. */
  readonly mostCost: number;
  /** A lower bound on the peak of any schedule, in bytes. */
  readonly leastBytes: number;
}

/** The smallest step, as a fraction of the peak in the plain order. */
const resolution = 0.0005;
/** The first step, as a fraction of the range from the plain peak to the smallest possible one. */
const firstStep = 1 / 32;
/** Changes per node after which a step was quick, so that the next one is larger. */
const quickChanges = 1;
/** Changes per node after which a step is too large. */
const patientChanges = 10;
/** Steps of rounds that move far, as fractions of the range from the current peak to the smallest possible one. */
const farSteps = [1 / 4, 1 / 16, 1 / 8, 1 / 32];

/**
 * The budget of a search for the smallest peak within a cost. It is always a step below the smallest peak found within
 * that cost. Steps grow as long as such schedules are found quickly, and shrink if none is found. Therefore a search
 * never works on a budget that is far below what it can reach in its time. @internal
 */
export class LoweredBudget {
  /** The smallest peak of a schedule of at most `mostCost`. */
  peakBytes: number = Number.POSITIVE_INFINITY;
  /** The schedule with that peak, and its cost. */
  sequence: Int32Array | undefined;
  cost: number = Number.POSITIVE_INFINITY;
  readonly mostCost: number;
  private readonly leastBytes: number;
  private readonly leastStep: number;
  private readonly nodeCount: number;
  private readonly isExact: boolean;
  private stepBytes: number;
  /** The step in a round that moves far, or 0. */
  private farBytes = 0;
  private farRounds = 0;
  /** Number of changes of the search at the last step. */
  private since = 0;

  /** @param isExact true if all sizes are whole numbers */
  constructor(
    { mostCost, leastBytes }: LoweringLimits,
    { plainBytes, nodeCount, isExact }: { plainBytes: number; nodeCount: number; isExact: boolean },
  ) {
    this.mostCost = mostCost;
    this.leastBytes = leastBytes;
    this.nodeCount = nodeCount;
    this.isExact = isExact;
    this.leastStep = Math.max(isExact ? 1 : 0, resolution * plainBytes);
    this.stepBytes = Math.max(this.leastStep, firstStep * (plainBytes - leastBytes));
  }

  /** The budget to search for. */
  get budgetBytes(): number {
    const bytes = Math.max(this.leastBytes, this.peakBytes - Math.max(this.stepBytes, this.farBytes));
    return this.isExact ? Math.floor(bytes) : bytes;
  }

  /** Returns whether a schedule is the best so far. */
  isBetter(peakBytes: number, cost: number): boolean {
    return cost <= this.mostCost && peakBytes < this.peakBytes;
  }

  /** Takes the best schedule so far, found after `changes` changes, and lowers the budget. */
  lower(sequence: Int32Array, peakBytes: number, cost: number, changes: number): void {
    this.sequence = sequence;
    this.peakBytes = peakBytes;
    this.cost = cost;
    this.farBytes = 0;
    const isQuick = changes > this.since && changes - this.since <= quickChanges * this.nodeCount;
    if (isQuick) this.stepBytes = Math.max(this.leastStep, Math.min(2 * this.stepBytes, peakBytes - this.leastBytes));
    this.since = changes;
  }

  /** Begins a round. If it moves far, its budget is also far below. */
  beginRound(isFar: boolean, changes: number): void {
    const fraction = isFar ? farSteps[this.farRounds++ % farSteps.length] : 0;
    this.farBytes = fraction * (this.peakBytes - this.leastBytes);
    this.since = changes;
  }

  /** Raises the budget if it was not met for too long. Returns whether it did. */
  raise(changes: number): boolean {
    if (this.farBytes > 0 || this.stepBytes <= this.leastStep) return false;
    if (changes - this.since < patientChanges * this.nodeCount) return false;
    this.stepBytes = Math.max(this.leastStep, this.stepBytes / 2);
    this.since = changes;
    return true;
  }
}
