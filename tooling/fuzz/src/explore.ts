import fc from "fast-check";
import type { Campaign } from "./campaign.js";

interface Exploration<T> {
  readonly arbitrary: fc.Arbitrary<T>;
  /** The problem, or undefined. */
  readonly check: (value: T) => Promise<string | undefined>;
  /** A test that reproduces it. */
  readonly testOf: (value: T, what: string) => string;
}

/** Per seed, so that a finding is reproduced quickly. */
export const runsPerSeed = 20;
const mostFindings = 3;
const mostShrinkMs = 90_000;

/**
 * Tries values of an arbitrary until a campaign is over, seed after seed, and shrinks findings. A finding is reproduced
 * with its seed, within the first values tried.
 */
export async function explore<T>(
  campaign: Campaign,
  { arbitrary, check, testOf }: Exploration<T>,
  shrinkMs = mostShrinkMs,
): Promise<void> {
  let findings = 0;
  let tries = 0;
  const isOver = () => campaign.isOver && tries >= campaign.leastTries;
  for (let { seed } = campaign; !isOver() && findings < mostFindings; seed++) {
    let shrinkUntil: number | undefined;
    const property = fc.asyncProperty(arbitrary, async (value) => {
      // fast-check's time limit would leave a try running, and two at once would share an engine and a clock.
      if (shrinkUntil === undefined ? isOver() : performance.now() > shrinkUntil) return;
      tries++;
      campaign.trying(shrinkUntil === undefined ? testOf(value, "hangs, or ends the process") : "");
      const what = await check(value);
      if (what === undefined) return;
      shrinkUntil ??= performance.now() + shrinkMs;
      throw new Error(what);
    });
    const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: runsPerSeed });
    if (!failed || counterexample === null) continue;
    findings++;
    const what = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
    campaign.found({ what, seed, test: testOf(counterexample[0], what) });
  }
}
