import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "@remat/dispatch-hook/backends/node";
import { BenchmarkCache } from "@remat/runtime-estimator/benchmark";
import { readInputText, replaceFile } from "@remat/trace/files";

/** Op times that are kept between runs. */
export interface KeptTimes {
  readonly cache: BenchmarkCache;
  /** Saves them if some were added. */
  keep(): void;
}

/** Opens the saved times of a file. Left out: a file in the cache folder. */
export function keptTimes(path: string = join(cacheFolder(), "benchmark.json")): KeptTimes {
  const cache = readTimes(path);
  const known = cache.size;
  return {
    cache,
    keep() {
      if (cache.size > known) writeTimes(path, cache);
    },
  };
}

/** A missing or damaged file only costs time. */
function readTimes(path: string): BenchmarkCache {
  try {
    return BenchmarkCache.parse(readInputText(path));
  } catch {
    return new BenchmarkCache();
  }
}

/** An unwritable cache is not an error. */
function writeTimes(path: string, cache: BenchmarkCache): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, JSON.stringify(cache));
  } catch (error) {
    process.emitWarning(`${path} cannot be written: ${(error as Error).message}`);
  }
}
