import { RuntimeSource, type Trace } from "@remat/trace";
import { quantile } from "./quantile.js";

/**
 * Returns the trace with the median of `samples` as the measured runtime of each op. Each sample contains the
 * milliseconds of the trace's ops in one step. In each step, different ops are slow, so the medians add up to less than
 * a step. All are scaled by one factor, so that they add up to the median of the total time in ops.
 *
 * @example
 * const timed = withMeasuredTimes(trace, [msOfStep1, msOfStep2, msOfStep3]);
 */
export function withMeasuredTimes(trace: Trace, samples: readonly Float64Array[]): Trace {
  const { count } = trace.ops;
  const timesOf = (op: number) => samples.map((sample) => sample[op]);
  const spreadOf = (times: readonly number[]) => (quantile(times, 0.75) - quantile(times, 0.25)) / 2;
  const medians = Float64Array.from({ length: count }, (_, op) => quantile(timesOf(op), 0.5));
  const factor = quantile(samples.map(sumOf), 0.5) / sumOf(medians) || 1;
  return trace.withRuntimes({
    runtimeMs: medians.map((ms) => factor * ms),
    runtimeSpreadMs: Float64Array.from({ length: count }, (_, op) => factor * spreadOf(timesOf(op))),
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured),
    runtimeRuns: new Int32Array(count).fill(samples.length),
  });
}

const sumOf = (times: Float64Array): number => times.reduce((sum, ms) => sum + ms, 0);
