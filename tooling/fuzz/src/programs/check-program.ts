import { stock } from "../../../../packages/checkpoint/test/users/ways.js";
import { compile } from "./compile.js";
import { firstDifference } from "./first-difference.js";
import { healEngine } from "./heal-engine.js";
import { type Way, ways } from "./ways.js";

/**
 * Runs a program unmodified and in every other way. Returns the first way in which it behaves differently, and the
 * difference, or undefined. If two unmodified runs of a program differ, the program proves nothing.
 */
export async function checkProgram(
  source: string,
  names: readonly string[] = Object.keys(ways),
  known: Readonly<Record<string, Way>> = ways,
): Promise<string | undefined> {
  healEngine();
  const inStock = async () => {
    try {
      return await stock(compile(source));
    } finally {
      healEngine();
    }
  };
  const expected = await inStock();
  for (const name of names) {
    let difference: string | undefined;
    try {
      difference = await known[name](source, expected);
    } catch (error) {
      difference = `raised ${(error as Error).stack}`;
    }
    healEngine();
    if (difference === undefined) continue;
    if (firstDifference(expected, await inStock()) !== undefined) return undefined;
    return `${name}: ${difference}`;
  }
  return undefined;
}
