import { RematError } from "@remat/trace";
import type { Measurement } from "./measure.js";

const format = "remat-benchmark/1";

/**
 * What has been measured, by environment (backend, processor, versions) and call; give one to several runs, keep it as a file between
 * them.
 *
 * @example
 * const cache = BenchmarkCache.parse(await readFile("benchmark.json", "utf8"));
 * await benchmarkTrace(trace, { cache });
 * await writeFile("benchmark.json", JSON.stringify(cache));
 */
export class BenchmarkCache {
  private readonly environments = new Map<string, Map<string, Measurement>>();

  /**
   * From the JSON that `toJSON` gave. Throws `RematError` (`BENCHMARK_CACHE`) naming what was found.
   *
   * @example
   * BenchmarkCache.parse('{"format":"remat-benchmark/1","environments":{}}').size; // 0
   */
  static parse(json: string): BenchmarkCache {
    let file: { format?: unknown; environments?: Record<string, Record<string, unknown>> } | null;
    try {
      file = JSON.parse(json);
    } catch (cause) {
      throw new RematError("BENCHMARK_CACHE", "benchmark cache: expected JSON; delete the file to measure anew", {
        cause,
      });
    }
    if (file?.format !== format)
      throw new RematError(
        "BENCHMARK_CACHE",
        `benchmark cache: found format '${String(file?.format)}', expected '${format}'; delete the file to measure anew`,
      );
    const cache = new BenchmarkCache();
    for (const [environment, calls] of Object.entries(file.environments ?? {}))
      for (const [call, measurement] of Object.entries(calls))
        cache.set(environment, call, checkMeasurement(call, measurement));
    return cache;
  }

  /** How many calls have been measured, over all environments. */
  get size(): number {
    let size = 0;
    for (const calls of this.environments.values()) size += calls.size;
    return size;
  }

  get(environment: string, call: string): Measurement | undefined {
    return this.environments.get(environment)?.get(call);
  }

  set(environment: string, call: string, measurement: Measurement): void {
    let calls = this.environments.get(environment);
    if (calls === undefined) {
      calls = new Map();
      this.environments.set(environment, calls);
    }
    calls.set(call, measurement);
  }

  toJSON(): unknown {
    const environments = [...this.environments].map(([name, calls]) => [name, Object.fromEntries(calls)]);
    return { format, environments: Object.fromEntries(environments) };
  }
}

function checkMeasurement(call: string, value: unknown): Measurement {
  const { medianMs, spreadMs, runs } = (value ?? {}) as Record<string, unknown>;
  const valid = [medianMs, spreadMs, runs].every((n) => typeof n === "number" && n >= 0);
  if (valid) return { medianMs, spreadMs, runs } as Measurement;
  throw new RematError(
    "BENCHMARK_CACHE",
    `benchmark cache: '${call}' has ${JSON.stringify(value)}, expected medianMs, spreadMs and runs from 0 up; delete the file to measure anew`,
  );
}
