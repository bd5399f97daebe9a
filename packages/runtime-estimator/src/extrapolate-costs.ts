import { RuntimeSource, Trace } from "@remat/trace";
import { deviceSpecs } from "./device-specs/device-specs.js";
import { priceTrace } from "./price-trace.js";

/** A recorded step and its size, such as the number of samples in a batch. */
export interface CostedRun {
  /** Size of the run. */
  readonly size: number;
  /** The recorded step. */
  readonly trace: Trace;
}

/**
 * Returns a step at a size other than the recorded ones, with extrapolated costs of its ops. The FLOPs and bytes of
 * each op lie on a line through the smallest and the largest run, for each recorded dtype. They are never negative. If
 * both runs were measured, times are extrapolated the same way. Otherwise estimate the result with `priceTrace`.
 *
 * @param trace the step at `size`, with the ops of the runs in their order
 * @example
 * priceTrace(extrapolateCosts(traceAt(64), 64, [{ size: 8, trace: a }, { size: 16, trace: b }]), deviceSpec("h100"));
 */
export function extrapolateCosts(trace: Trace, size: number, runs: readonly CostedRun[]): Trace {
  const sorted = [...runs].sort((a, b) => a.size - b.size);
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  // Any device works, since FLOPs and bytes of an op do not depend on it.
  const [a, b] = [low, high].map((run) => priceTrace(run.trace, deviceSpecs["a100"]).ops);
  const share = high.size === low.size ? 0 : (size - low.size) / (high.size - low.size);
  const onLine = (from: Float64Array, to: Float64Array): Float64Array =>
    from.map((value, op) => Math.max(0, value + share * (to[op] - value)));
  const isMeasured = (run: CostedRun): boolean => run.trace.ops.runtimeSource.includes(RuntimeSource.measured);
  const measured = isMeasured(low) && isMeasured(high);
  const costed = trace.withRuntimes({
    runtimeMs: measured ? onLine(low.trace.ops.runtimeMs, high.trace.ops.runtimeMs) : new Float64Array(trace.ops.count),
    runtimeSource: measured ? high.trace.ops.runtimeSource : new Uint8Array(trace.ops.count).fill(RuntimeSource.none),
    flops: onLine(a.flops, b.flops),
    bytesRead: onLine(a.bytesRead, b.bytesRead),
    bytesWritten: onLine(a.bytesWritten, b.bytesWritten),
  });
  const recordedIn = Array.from(trace.recordedIn, ([dtype, run]) => {
    const others = runs.flatMap((each) => {
      const other = each.trace.recordedIn.get(dtype);
      return other === undefined ? [] : [{ size: each.size, trace: other }];
    });
    return [dtype, extrapolateCosts(run, size, others)] as const;
  });
  return new Trace({ ...costed, recordedIn: new Map(recordedIn) });
}
