/** The share of elapsed time that stacks may take, and how many may be taken regardless of time. */
export interface StackAllowance {
  readonly share: number;
  /** Most programs never need more. */
  readonly free: number;
}

/** The tensors of one kind. All of their stacks are taken, or a random part. */
export class StackStream {
  /** One in `2 ** level` is chosen. */
  level = 0;
  seen = 0;
  taken = 0;
  spentMs = 0;
  /**
   * When the level was last adjusted. The next fields are the number of tensors seen by then, and the share of time
   * since then that taking every stack would have needed.
   */
  levelledAt: number | undefined;
  seenThen = 0;
  demand = 0;
}

const tensorsBetween = 16;
const leastMsBetween = 10;
const highestLevel = 30;

/** A stack that was taken, and the number of tensors that it represents. */
export interface Chosen<T> {
  readonly stack: T;
  readonly weight: number;
}

/**
 * Chooses at random the tensors whose stacks are taken, since each stack costs as much as an op of a tiny model. The
 * choice is made before anything is known about a tensor's origin. Within a stream no line is therefore favoured, and
 * each chosen tensor represents as many as its odds imply. Streams that would exceed their share of the time are
 * thinned out. The others are taken in full.
 */
export class StackSampling {
  private readonly now: () => number;
  private readonly allowance: StackAllowance;
  private taken = 0;
  private readonly streams: StackStream[] = [];
  /** The share of time that each stream may take. */
  private part: number;
  private sharedAt = Number.NEGATIVE_INFINITY;
  private state: number;
  private spentMs = 0;
  private readonly startedAt: number;

  constructor(now: () => number, allowance: StackAllowance, seed = 0x9e3779b9) {
    this.now = now;
    this.allowance = allowance;
    this.part = allowance.share;
    this.startedAt = now();
    this.state = seed | 1;
  }

  open(): StackStream {
    const stream = new StackStream();
    this.streams.push(stream);
    return stream;
  }

  /**
   * Takes the stack of a tensor if it is chosen. Otherwise returns the weight that the stack would have had, or
   * infinity if it could not be chosen.
   */
  take<T>(stream: StackStream, look: () => T): Chosen<T> | number {
    stream.seen++;
    if (this.taken >= this.allowance.free) {
      if (this.allowance.share === 0) return Number.POSITIVE_INFINITY;
      if (stream.seen % tensorsBetween === 0) this.setLevel(stream);
    }
    const weight = 2 ** stream.level;
    if (stream.level > 0 && this.leadingZeros() < stream.level) return weight;
    this.taken++;
    stream.taken++;
    return { stack: this.timed(stream, look), weight };
  }

  /** Adds the time of `look` to the stream's. */
  timed<T>(stream: StackStream, look: () => T): T {
    const at = this.now();
    const result = look();
    const ms = this.now() - at;
    stream.spentMs += ms;
    this.spentMs += ms;
    return result;
  }

  private setLevel(stream: StackStream): void {
    const now = this.now();
    const ms = now - (stream.levelledAt ?? Number.NEGATIVE_INFINITY);
    if (ms < leastMsBetween) return;
    if (stream.levelledAt !== undefined) {
      const cost = stream.spentMs / Math.max(1, stream.taken);
      stream.demand = ((stream.seen - stream.seenThen) * cost) / ms;
      this.divide(now);
      const level = Math.ceil(Math.log2(Math.max(1, stream.demand / Math.max(this.part, 1e-12))));
      const isTime = this.spentMs <= this.allowance.share * (now - this.startedAt);
      stream.level = isTime ? 0 : Math.min(highestLevel, level);
    }
    stream.levelledAt = now;
    stream.seenThen = stream.seen;
  }

  /** Gives streams with little demand all they need, and divides the rest equally among the others. */
  private divide(now: number): void {
    if (now - this.sharedAt < leastMsBetween) return;
    this.sharedAt = now;
    const equal = this.allowance.share / this.streams.length;
    let rest = this.allowance.share;
    let greedy = 0;
    for (const { demand } of this.streams)
      if (demand > equal) greedy++;
      else rest -= demand;
    this.part = rest / Math.max(1, greedy);
  }

  /**
   * Counts leading zeros of 32 random bits: at least `n` with a probability of one in `2 ** n`. `Math.random` is left
   * to the program.
   */
  private leadingZeros(): number {
    let { state } = this;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.state = state;
    // The bits of a xorshift generator depend on each other. Multiplication by an odd number reduces this.
    return Math.clz32(Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0);
  }
}
