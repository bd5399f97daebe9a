/** The default seed of every run, so that tests pass or fail equally on every machine. */
const usualSeed = 20260101;

/**
 * Returns the seed of all properties of a run from `FAST_CHECK_SEED`: an integer, `random` for a new seed for each
 * property, or nothing for the default. Undefined: fast-check draws the seed, and prints it if the property fails.
 *
 * @throws Error for anything else, since a typing error would hide that the default seed ran
 */
export function seedOfProperties(asked: string | undefined): number | undefined {
  if (asked === undefined || asked === "") return usualSeed;
  if (asked === "random") return undefined;
  const seed = Number(asked);
  if (!Number.isInteger(seed) || seed < -(2 ** 31) || seed >= 2 ** 31)
    throw new Error(`FAST_CHECK_SEED is ${JSON.stringify(asked)}. Set it to a 32-bit integer or to "random".`);
  return seed;
}
