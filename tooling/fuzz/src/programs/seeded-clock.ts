import { SeededRandom } from "@remat/tracer";
import fc from "fast-check";

/** A clock on which what goes by between two looks follows from a seed. */
export interface Clock {
  readonly seed: number;
  /** Of the milliseconds that go by: the larger, the sooner a deadline is there. */
  readonly scale: number;
}

/** Clocks on which a search of 150 ms is over after some hundred changes, or after some ten thousand: it does twice as much each time that little goes by. */
export const clocks: fc.Arbitrary<Clock> = fc.record({ seed: fc.nat(), scale: fc.constantFrom(1, 1 / 2, 1 / 3) });

/** From a tenth of a millisecond to a hundred, by orders of magnitude. */
const leastMs = 0.1;
const magnitudes = 3;

/**
 * Runs `run` by a clock of its own in place of `performance.now`: what measured costs and deadlines decide, which differs from run to run and from
 * machine to machine, is found again from the seed. Nothing of it may go on behind its end: for that time would go back.
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
