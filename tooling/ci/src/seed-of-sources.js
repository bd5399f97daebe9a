import { spawnSync } from "node:child_process";

/**
 * Tells from which seed the fuzzer starts in a check of these sources: another one for each state of them,
 * and the same one for the same state, so that two checks of it judge alike. A new one each time where there is no git.
 *
 * @param {string} cwd the checkout
 * @returns {number} an unsigned integer of 31 bits
 */
export function seedOfSources(cwd) {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD^{tree}"], { cwd, encoding: "utf8" });
  return status === 0 ? Number.parseInt(stdout.slice(0, 8), 16) >>> 1 : Math.floor(Math.random() * 2 ** 31);
}
