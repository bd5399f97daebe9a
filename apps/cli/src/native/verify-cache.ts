import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, distrustOfWay, type Environment, hashFile } from "@remat/dispatch-hook/backends/node";
import { checkSeal, type SealProblem } from "./seal-folder.js";

/** A folder of the native backend's cache. */
export interface CacheItem {
  /** Path of the folder. */
  readonly folder: string;
  /** Number of files hashed. */
  readonly files: number;
  /** Differences from the state when it was built, or empty if none exist. */
  readonly problems: readonly SealProblem[];
}

/**
 * Hashes everything that training processes would load or preload from the cache, including TensorFlow's libraries, and
 * compares it with the state when it was built. Takes a second or two. Nothing is loaded.
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
  // Hashes each file once, because tfjs-node and tfjs-node-gpu link to the same 0.9 GB.
  const hashes = new Map<string, Promise<string>>();
  const hashOnce = async (link: string): Promise<string> => {
    const path = realpathSync(link);
    const hash = hashes.get(path) ?? hashFile(path);
    hashes.set(path, hash);
    return hash;
  };
  for (const name of readdirSync(native).sort()) {
    // Unfinished builds are not used.
    if (name.startsWith(".")) continue;
    const folder = join(native, name);
    items.push({ folder, ...(await checkSeal(folder, hashOnce)) });
  }
  return items;
}
