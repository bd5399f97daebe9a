/** Generators in use, the last of which replaces `Math.random`. Asynchronous runs may overlap. */
const running: (() => number)[] = [];
let real: () => number;

/**
 * Replaces `Math.random` by numbers from a seed. Initializers, dropout masks and random data draw from it, so preparing
 * a step again, even in another process, gives the same values.
 *
 * @example
 * const random = new SeededRandom(1);
 * const model = random.run(() => tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [8] })] }));
 */
export class SeededRandom {
  /** The 32 bits of state of the generator. */
  private state: number;
  private readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    return mulberry32(this.state);
  };

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Returns a function that makes the numbers from here on come again. */
  mark(): () => void {
    const { state } = this;
    return () => {
      this.state = state;
    };
  }

  /**
   * Runs `fn`, synchronous or not, and restores `Math.random` afterwards. Numbers continue where the last run ended.
   */
  run<T>(fn: () => T): T {
    if (running.length === 0) real = Math.random;
    running.push(this.next);
    Math.random = this.next;
    const restore = () => {
      running.splice(running.lastIndexOf(this.next), 1);
      Math.random = running.at(-1) ?? real;
    };
    let result: T;
    try {
      result = fn();
    } catch (error) {
      restore();
      throw error;
    }
    if (result instanceof Promise) return result.finally(restore) as T;
    restore();
    return result;
  }
}

/** Returns the number in [0, 1) for a state of 32 bits: Tommy Ettinger's mulberry32. */
function mulberry32(state: number): number {
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
