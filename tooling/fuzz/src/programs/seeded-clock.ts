import { SeededRandom } from "@remat/tracer";
import fc from "fast-check";

/** A clock whose time between two reads follows from a seed. */
export interface Clock {
  readonly seed: number;
  /** Scale of the elapsed milliseconds: the larger, the earlier a deadline. */
  readonly scale: number;
}

/**
 * Clocks on which a search of 150 ms ends after some hundred changes, or after about ten thousand: it does twice as
 * much each time that little time passes.
 */
export const clocks: fc.Arbitrary<Clock> = fc.record({ seed: fc.nat(), scale: fc.constantFrom(1, 1 / 2, 1 / 3) });

/** From a tenth of a millisecond to a hundred, by orders of magnitude. */
const leastMs = 0.1;
const magnitudes = 3;

/**
 * Runs `run` with its own clock in place of `performance.now`. Decisions based on measured costs and deadlines, which
 * vary between runs and machines, are thereby reproducible from the seed. No work of `run` may continue after its end,
 * since time would go back for it.
 */
export async function withClock<T>({ seed, scale }: Clock, run: () => Promise<T>): Promise<T> {
  const random = new SeededRandom(seed);
  let nowMs = 0;
  const real = Object.getOwnPropertyDescriptor(performance, "now");
  Object.defineProperty(performance, "now", {
    value: () => (nowMs += scale * leastMs * 10 ** (magnitudes * random.run(() => Math.random()))),
    configurable: true,
    writable: true,
  });
  try {
    return await run();
  } finally {
    if (real === undefined) delete (performance as { now?: unknown }).now;
    else Object.defineProperty(performance, "now", real);
  }
}
