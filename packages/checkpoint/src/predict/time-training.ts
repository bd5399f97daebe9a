import type { BackendName } from "@remat/dispatch-hook/backends";
import { stepMs } from "@remat/runtime-estimator";
import { type BenchmarkCache, type BenchmarkProgress, benchmarkTrace } from "@remat/runtime-estimator/benchmark";
import { RematError, type Trace } from "@remat/trace";
import { timeFakeStep, timeStep } from "@remat/tracer";
import type { StepRequest } from "@remat/tracer/step";
import { releaseEarly } from "../release-early.js";
import { hostMsOf, stepWays, type WayToTrain } from "./step-ways.js";

/** The ops of a step and the time around them, measured on the target backend. */
export interface TimedStep {
  /** The trace with measured op times. */
  readonly trace: Trace;
  /** Time of a step outside of the ops in the trace, in milliseconds, by strategy. */
  readonly hostMs: Readonly<Record<WayToTrain, number>>;
}

/** Options of `timeTraining`. */
export interface TimeTrainingOptions extends StepRequest {
  /** Name of the model. */
  readonly name?: string | undefined;
  /** Peak of a step with early release, in bytes. */
  readonly releasedPeakBytes: number;
  /** Memory available for steps, in bytes. Default: unlimited. */
  readonly availableBytes?: number;
  /** True if kernels have finished when they return. */
  readonly isSynchronous: boolean;
  /** The baseline trace, if the trace to be timed uses other gradients than those of TensorFlow.js. */
  readonly stock?: Trace;
  /** Known times of isolated calls. New ones are added. */
  readonly cache?: BenchmarkCache;
  /** Called after each step, or after each isolated call that was timed. */
  readonly onProgress?: (progress: { readonly doneSteps: number } | BenchmarkProgress) => void;
}

/**
 * Times every op of a trace on the current backend. If memory allows, ops are timed in steps with early release.
 * Otherwise each call is timed in isolation. This takes longer and is less accurate, because caches are in another
 * state.
 *
 * @param exported the model or step that the trace is of, see `defineModel` of `@remat/tracer`
 * @example
 * const { peakBytes: releasedPeakBytes } = await predictReleasedPeak(build, { batch: 8, backend: "cpu" });
 * const timed = await timeTraining(build, trace, { batch: 8, releasedPeakBytes, isSynchronous: true });
 * predictPlanned(timed, plan).stepMs;
 */
export async function timeTraining(
  exported: unknown,
  trace: Trace,
  {
    releasedPeakBytes,
    availableBytes = Number.POSITIVE_INFINITY,
    isSynchronous,
    stock = trace,
    cache,
    onProgress,
    ...training
  }: TimeTrainingOptions,
): Promise<TimedStep> {
  if (isSynchronous && needsBytes(releasedPeakBytes) < availableBytes) {
    try {
      const { trace: timed, hostMsByWay } = await timeStep(exported, trace, {
        ...training,
        ways: await stepWays(trace),
        warmUpSteps: 1,
        inARow: 2,
        minSteps: 1,
        maxSteps: 3,
        ...(onProgress && { onProgress: (doneSteps: number) => onProgress({ doneSteps }) }),
      });
      return { trace: timed, hostMs: hostMsOf(hostMsByWay) };
    } catch (error) {
      // The model's steps differ from each other.
      if (!(error instanceof RematError && mismatches.has(error.code))) throw error;
    }
  }
  const benchmark = { ...(cache && { cache }), ...(onProgress && { onProgress }) };
  const { trace: timed } = await benchmarkTrace(trace, benchmark);
  const moreMs = stock === trace ? 0 : stepMs((await benchmarkTrace(stock, benchmark)).trace) - stepMs(timed);
  const fake = { ...training, backend: trace.header.backend as BackendName };
  const stockMs = await timeFakeStep(exported, fake);
  const stop = releaseEarly();
  try {
    const released = await timeFakeStep(exported, fake);
    return { trace: timed, hostMs: { stock: stockMs + moreMs, released, planned: released } };
  } finally {
    stop();
  }
}

const mismatches: ReadonlySet<string> = new Set(["STEP_MISMATCH", "PLAN_MISMATCH"]);

/** Memory of steps plus an allowance for kernels and the heap. */
function needsBytes(peakBytes: number): number {
  return 1.25 * peakBytes + 500e6;
}
