import { describeValue, isRecord, parseJsonText, RematError } from "@remat/trace";
import type { Measurement } from "./measure.js";

const format = "remat-benchmark/1";

/**
 * Measured times by environment (backend, processor, versions) and call. Pass one cache to several runs, and store it
 * as a file in between.
 *
 * @example
 * const cache = BenchmarkCache.parse(await readFile("benchmark.json", "utf8"));
 * await benchmarkTrace(trace, { cache });
 * await writeFile("benchmark.json", JSON.stringify(cache));
 */
export class BenchmarkCache {
  private readonly environments = new Map<string, Map<string, Measurement>>();

  /**
   * Parses the JSON of `toJSON`.
   *
   * @throws RematError `BENCHMARK_CACHE`, with the content that was found
   * @example
   * BenchmarkCache.parse('{"format":"remat-benchmark/1","environments":{}}').size; // 0
   */
  static parse(json: string): BenchmarkCache {
    let file: unknown;
    try {
      file = parseJsonText(json);
    } catch (cause) {
      throw rejected(`not JSON (${(cause as Error).message})`, cause);
    }
    const found = isRecord(file) ? file["format"] : undefined;
    if (!isRecord(file) || found !== format)
      throw rejected(`found format ${describeValue(found)}, expected '${format}'`);
    const { environments = {} } = file;
    if (!isRecord(environments)) throw rejected(`'environments' is ${describeValue(environments)}, expected an object`);
    const cache = new BenchmarkCache();
    for (const [environment, calls] of Object.entries(environments)) {
      if (!isRecord(calls))
        throw rejected(`${describeValue(environment)} is ${describeValue(calls)}, expected an object of calls`);
      for (const [call, measurement] of Object.entries(calls))
        cache.set(environment, call, checkMeasurement(call, measurement));
    }
    return cache;
  }

  /** Number of measured calls in all environments. */
  get size(): number {
    let size = 0;
    for (const calls of this.environments.values()) size += calls.size;
    return size;
  }

  /** Returns the measurement of a call. */
  get(environment: string, call: string): Measurement | undefined {
    return this.environments.get(environment)?.get(call);
  }

  /** Stores the measurement of a call. */
  set(environment: string, call: string, measurement: Measurement): void {
    let calls = this.environments.get(environment);
    if (calls === undefined) {
      calls = new Map();
      this.environments.set(environment, calls);
    }
    calls.set(call, measurement);
  }

  /** Returns the contents for `JSON.stringify`. */
  toJSON(): unknown {
    const environments = [...this.environments].map(([name, calls]) => [name, Object.fromEntries(calls)]);
    return { format, environments: Object.fromEntries(environments) };
  }
}

function rejected(detail: string, cause?: unknown): RematError {
  return new RematError("BENCHMARK_CACHE", `benchmark cache: ${detail}. Delete the file to measure again.`, { cause });
}

function checkMeasurement(call: string, value: unknown): Measurement {
  const { medianMs, spreadMs, runs } = (value ?? {}) as Record<string, unknown>;
  const valid = [medianMs, spreadMs, runs].every((n) => typeof n === "number" && n >= 0 && Number.isFinite(n));
  if (valid) return { medianMs, spreadMs, runs } as Measurement;
  throw rejected(`${describeValue(call)} is ${describeValue(value)}, expected medianMs, spreadMs and runs from 0 up`);
}
