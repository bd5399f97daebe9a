import type { BackendName } from "@remat/dispatch-hook/backends";
import { stepMs } from "@remat/runtime-estimator";
import { type BenchmarkCache, type BenchmarkProgress, benchmarkTrace } from "@remat/runtime-estimator/benchmark";
import { RematError, type Trace } from "@remat/trace";
import { timeFakeStep, timeStep } from "@remat/tracer";
import type { StepRequest } from "@remat/tracer/step";
import { releaseEarly } from "../release-early.js";
import { hostMsOf, stepWays, type WayToTrain } from "./step-ways.js";

/** A step's ops and what is around them, timed on the backend where it is to run. */
export interface TimedStep {
  readonly trace: Trace;
  /** Milliseconds of a step beside the ops of the trace, by how it is taken. */
  readonly hostMs: Readonly<Record<WayToTrain, number>>;
}

export interface TimeTrainingOptions extends StepRequest {
  readonly name?: string | undefined;
  /** The peak of a step with early release, and how much memory there is for steps; left out: enough. */
  readonly releasedPeakBytes: number;
  readonly availableBytes?: number;
  /** Whether kernels have run when they return. */
  readonly isSynchronous: boolean;
  /** The trace of a step of stock, where the one to be timed has other gradients than tfjs's own. */
  readonly stock?: Trace;
  /** Times of calls by themselves that are known, to which others are added. */
  readonly cache?: BenchmarkCache;
  /** Told of steps that were taken, or of calls that were timed by themselves. */
  readonly onProgress?: (progress: { readonly doneSteps: number } | BenchmarkProgress) => void;
}

/**
 * Times every op of a trace on the current backend: in steps with early release, where there is memory for them; otherwise each call by itself,
 * which takes longer and tells less, since other ops leave other caches behind.
 *
 * @param exported what the trace is a step of, see `defineModel` of `@remat/tracer`
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

/** What steps hold, and what kernels and the heap take beside it. */
function needsBytes(peakBytes: number): number {
  return 1.25 * peakBytes + 500e6;
}
