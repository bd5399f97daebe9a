import { type DeviceSpec, RematError, RuntimeSource, type Trace, withNotes } from "@remat/trace";
import { formatBytes } from "@remat/trace/text";
import * as tf from "@tensorflow/tfjs-core";
import { deviceSpec } from "../device-specs/device-specs.js";
import { type OpCall, sumBytes } from "../op-call.js";
import { groupOps, opCallOf } from "../op-signatures.js";
import { priceTrace } from "../price-trace.js";
import { BenchmarkCache } from "./benchmark-cache.js";
import { CannotRun } from "./cannot-run.js";
import { describeEnvironment, isAsynchronous } from "./environment.js";
import { IsolatedCall } from "./isolated-call.js";
import { type Measurement, measure } from "./measure.js";

/** Options of `benchmarkTrace`. */
export interface BenchmarkOptions {
  /** Number of warm-up runs, which do not count. Default: 2. */
  readonly warmUpRuns?: number;
  /** Minimum number of samples of each call. Default: 3. */
  readonly minRuns?: number;
  /** Maximum number of samples of each call. Default: 50. */
  readonly maxRuns?: number;
  /** Time after which no further sample of a call is taken, in milliseconds. Default: 100. */
  readonly budgetMsPerCall?: number;
  /** Maximum bytes of a call's inputs and outputs together. Larger calls are not run. Default: 2 GiB. */
  readonly maxBytes?: number;
  /** Device whose roofline model estimates the calls that are not run. Default: `cpu`. */
  readonly device?: DeviceSpec;
  /** Measurements to reuse. New ones are added. */
  readonly cache?: BenchmarkCache;
  /** Name of this machine in the cache. Default: {@link describeEnvironment}. */
  readonly environment?: string;
  /** Called after each call that was measured. */
  readonly onProgress?: (progress: BenchmarkProgress) => void;
  /** Stops between two runs of a kernel. The cache keeps the measurements so far. */
  readonly signal?: AbortSignal;
}

/** Progress of `benchmarkTrace`. */
export interface BenchmarkProgress {
  /** Number of calls measured so far. */
  readonly doneCalls: number;
  /** Number of distinct calls. */
  readonly totalCalls: number;
  /** The kernel that was measured last. */
  readonly kernel: string;
}

/** Calls that were estimated by the roofline model instead of measured, with the reason. */
export interface NotMeasured {
  readonly kernel: string;
  /** The reason why the calls were not measured. */
  readonly reason: string;
  /** Number of distinct calls. */
  readonly calls: number;
  /** Number of ops. */
  readonly ops: number;
}

/** Result of `benchmarkTrace`. */
export interface BenchmarkReport {
  /** The trace with measured runtimes. A note in its header lists calls that were not measured. */
  readonly trace: Trace;
  /** Name of this machine in the cache. */
  readonly environment: string;
  /** Number of calls measured now. */
  readonly measuredCalls: number;
  /** Number of calls found in the cache. */
  readonly cachedCalls: number;
  /** Calls that were estimated instead. */
  readonly notMeasured: readonly NotMeasured[];
}

/**
 * Times every distinct kernel call (kernel, shapes, dtypes, attributes) of a TensorFlow.js trace on the current
 * backend. Each call runs in isolation on made-up inputs. The medians are written to the trace's runtime columns as
 * `RuntimeSource.measured`, with half the interquartile range and the number of samples. FLOPs and bytes are filled in
 * as well.
 *
 * Calls that cannot run in isolation, need more than `maxBytes`, or fail are estimated by the roofline model of
 * `device`, and listed in the report.
 *
 * @throws RematError `BENCHMARK_FRAMEWORK` for a trace of another framework, `BENCHMARK_FAKE` on a fake backend; also
 * the reason of `signal`
 * @example
 * const { trace: timed, notMeasured } = await benchmarkTrace(trace, { onProgress: ({ kernel }) => console.error(kernel) });
 */
export async function benchmarkTrace(trace: Trace, options: BenchmarkOptions = {}): Promise<BenchmarkReport> {
  checkCanMeasure(trace);
  const { cache = new BenchmarkCache(), environment = describeEnvironment(), device = deviceSpec("cpu") } = options;
  const { ofOp, firstOp } = groupOps(trace);
  const opsOf = new Int32Array(firstOp.length);
  for (const group of ofOp) opsOf[group]++;
  const measured: (Measurement | undefined)[] = [];
  const notMeasured = new Map<string, NotMeasured>();
  let measuredCalls = 0;
  let cachedCalls = 0;
  const breathe = breather();
  for (const [group, op] of firstOp.entries()) {
    options.signal?.throwIfAborted();
    const call = opCallOf(trace, op);
    const key = JSON.stringify([call.name, call.inputs, call.outputs, call.attributes]);
    const known = cache.get(environment, key);
    if (known !== undefined) cachedCalls++;
    const result = known ?? (await measureCall(call, options));
    if (typeof result === "string") addReason(notMeasured, call.name, result, opsOf[group]);
    else {
      measured[group] = result;
      if (known === undefined) {
        measuredCalls++;
        cache.set(environment, key, result);
      }
    }
    options.onProgress?.({ doneCalls: group + 1, totalCalls: firstOp.length, kernel: call.name });
    await breathe();
  }
  const timed = writeMeasurements(priceTrace(trace, device), ofOp, measured);
  const list = [...notMeasured.values()];
  return { trace: withNote(timed, list, device), environment, measuredCalls, cachedCalls, notMeasured: list };
}

function checkCanMeasure(trace: Trace): void {
  const { framework } = trace.header;
  if (framework !== "tfjs")
    throw new RematError(
      "BENCHMARK_FRAMEWORK",
      `timing ops of ${framework === "pytorch" ? "PyTorch" : framework} is not supported here. Estimate them with --mode operator-level-cost-model --device a100 (priceTrace in code)${framework === "pytorch" ? ", or time them in Python with remat.record_step" : ""}.`,
    );
  if ("standsFor" in tf.backend())
    throw new RematError(
      "BENCHMARK_FAKE",
      `backend '${tf.getBackend()}' does not compute, so it cannot be timed. Run the benchmark outside fake mode, on a real backend.`,
    );
}

/** Returns the measurement, or the reason why none exists. */
async function measureCall(call: OpCall, options: BenchmarkOptions): Promise<Measurement | string> {
  const { warmUpRuns = 2, minRuns = 3, maxRuns = 50, budgetMsPerCall = 100, maxBytes = 2 ** 31, signal } = options;
  const bytes = sumBytes(call.inputs) + sumBytes(call.outputs);
  if (bytes > maxBytes) return `its tensors take ${formatBytes(bytes)}, more than the ${formatBytes(maxBytes)} allowed`;
  let isolated: IsolatedCall | undefined;
  try {
    isolated = new IsolatedCall(call, { asynchronous: isAsynchronous() });
    const { maxRepeats } = isolated;
    const sample = isolated.sample.bind(isolated);
    await isolated.prepare();
    return await measure(sample, { warmUpRuns, minRuns, maxRuns, budgetMs: budgetMsPerCall, maxRepeats, signal });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    if (error instanceof CannotRun) return error.message;
    return `it failed: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    isolated?.dispose();
  }
}

function writeMeasurements(priced: Trace, ofOp: Int32Array, measured: readonly (Measurement | undefined)[]): Trace {
  const { runtimeMs, runtimeSource, runtimeSpreadMs, runtimeRuns } = priced.ops;
  for (let op = 0; op < priced.ops.count; op++) {
    const measurement = measured[ofOp[op]];
    if (measurement === undefined) continue;
    runtimeMs[op] = measurement.medianMs;
    runtimeSource[op] = RuntimeSource.measured;
    runtimeSpreadMs[op] = measurement.spreadMs;
    runtimeRuns[op] = measurement.runs;
  }
  return priced;
}

function addReason(notMeasured: Map<string, NotMeasured>, kernel: string, reason: string, ops: number): void {
  const key = `${kernel}: ${reason}`;
  const before = notMeasured.get(key);
  notMeasured.set(key, { kernel, reason, calls: (before?.calls ?? 0) + 1, ops: (before?.ops ?? 0) + ops });
}

function withNote(trace: Trace, notMeasured: readonly NotMeasured[], device: DeviceSpec): Trace {
  if (notMeasured.length === 0) return trace;
  const ops = notMeasured.reduce((sum, entry) => sum + entry.ops, 0);
  const kernels = [...new Set(notMeasured.map(({ kernel }) => kernel))].join(", ");
  const note = `${ops} of ${trace.ops.count} ops were not measured but priced by the roofline model of '${device.name}': ${kernels}`;
  return withNotes(trace, [note]);
}

/** Returns a function to call repeatedly. Every 50 ms it waits, so that timers and input are handled. */
function breather(): () => Promise<void> {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < 50) return;
    await new Promise<void>((resolve) => setTimeout(resolve));
    last = performance.now();
  };
}
