import fc from "fast-check";

/**
 * Properties look at new cases on each run of a developer, and at the same ones in CI, where a change is judged and not what was there before
 * it. `FAST_CHECK_SEED` asks for a certain seed in both.
 */
const seed = process.env.FAST_CHECK_SEED ?? (process.env.CI === "true" ? "20260101" : undefined);
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
