import { spawnSync } from "node:child_process";

/**
 * Returns the seed of the fuzzer for a check of these sources: different for each state of them, and the same for the
 * same state, so that two checks of it agree. Without git it is new each time.
 *
 * @param {string} cwd the checkout
 * @returns {number} an unsigned integer of 31 bits
 */
export function seedOfSources(cwd) {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD^{tree}"], { cwd, encoding: "utf8" });
  return status === 0 ? Number.parseInt(stdout.slice(0, 8), 16) >>> 1 : Math.floor(Math.random() * 2 ** 31);
}
