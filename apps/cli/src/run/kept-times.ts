import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "@remat/dispatch-hook/backends/node";
import { BenchmarkCache } from "@remat/runtime-estimator/benchmark";
import { readInputText, replaceFile } from "@remat/trace/files";

/** Times of calls that are kept between runs. */
export interface KeptTimes {
  readonly cache: BenchmarkCache;
  /** Writes them back where some were added. */
  keep(): void;
}

/** Opens the times that are kept in a file: left out, in one of the cache folder. */
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

/** A file that is missing or damaged costs time, not the run. */
function readTimes(path: string): BenchmarkCache {
  try {
    return BenchmarkCache.parse(readInputText(path));
  } catch {
    return new BenchmarkCache();
  }
}

/** A cache that cannot be written to is no reason to fail. */
function writeTimes(path: string, cache: BenchmarkCache): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, JSON.stringify(cache));
  } catch (error) {
    process.emitWarning(`${path} cannot be written: ${(error as Error).message}`);
  }
}
