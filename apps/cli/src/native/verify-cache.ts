import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, distrustOfWay, type Environment, hashFile } from "@remat/dispatch-hook/backends/node";
import { checkSeal, type SealProblem } from "./seal-folder.js";

/** A folder of what is kept for the native backend. */
export interface CacheItem {
  readonly folder: string;
  /** How many files were hashed. */
  readonly files: number;
  /** What is not as it was built; empty if all is. */
  readonly problems: readonly SealProblem[];
}

/**
 * Hashes all that processes which train would load or preload from the cache, TensorFlow's libraries included, and compares it with what was built: a second or
 * two. Nothing is loaded.
 *
 * @example
 * for (const { folder, problems } of await verifyCache()) console.log(folder, problems.length === 0 ? "as built" : problems);
 */
export async function verifyCache(env: Environment = process.env): Promise<readonly CacheItem[]> {
  const native = join(cacheFolder(env), "native");
  if (!existsSync(native)) return [];
  const distrust = distrustOfWay(native, cacheFolder(env));
  const items: CacheItem[] =
    distrust === undefined ? [] : [{ folder: native, files: 0, problems: [{ path: native, what: distrust }] }];
  // Both packages link to the same 0.9 GB.
  const hashes = new Map<string, Promise<string>>();
  const hashOnce = async (link: string): Promise<string> => {
    const path = realpathSync(link);
    const hash = hashes.get(path) ?? hashFile(path);
    hashes.set(path, hash);
    return hash;
  };
  for (const name of readdirSync(native).sort()) {
    // What is being built, or was left: nobody looks there.
    if (name.startsWith(".")) continue;
    const folder = join(native, name);
    items.push({ folder, ...(await checkSeal(folder, hashOnce)) });
  }
  return items;
}
