import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { freemem } from "node:os";
import { dirname, join } from "node:path";
import { releaseEarly } from "@remat/checkpoint";
import { type BackendName, cacheFolder } from "@remat/dispatch-hook";
import { followedPeak, recordedPeak } from "@remat/reporting";
import { BenchmarkCache, benchmarkTrace } from "@remat/runtime-estimator/benchmark";
import { Category, type Plan, RematError, type Trace } from "@remat/trace";
import { timeFakeStep, timeStep, traceFakeStep } from "@remat/tracer";
import type { StepPrediction } from "./planning-job.js";
import { type TrainingSource, trainingOf } from "./training.js";

/** Traces a step without data, the second one: an optimizer makes its state in the first. */
export async function traceTraining(source: TrainingSource, backend: BackendName): Promise<Trace> {
  const { build, options } = await trainingOf(source);
  const { name, size, batch } = source;
  return traceFakeStep(build, { ...options, name, size, batch, backend, stepsBefore: 1 });
}

/** A step's ops and what is around them, timed on the backend where it is to run. */
export interface TimedStep {
  readonly trace: Trace;
  /** Milliseconds of a step outside of ops. */
  readonly hostMs: number;
}

export interface TimingOptions {
  /** The peak of a step with early release. */
  readonly releasedPeakBytes: number;
  /** Whether kernels have run when they return. */
  readonly isSynchronous: boolean;
  /** Where times of calls are kept; left out: in the cache folder. */
  readonly timesPath?: string | undefined;
  readonly tell: (text: string) => void;
}

/**
 * Times every op of a trace on the current backend: in steps with early release, where there is memory for them; otherwise each call by itself,
 * which takes longer and tells less, since other ops leave other caches behind.
 */
export async function timeTraining(
  trace: Trace,
  source: TrainingSource,
  { releasedPeakBytes, isSynchronous, timesPath, tell }: TimingOptions,
): Promise<TimedStep> {
  const { build, options } = await trainingOf(source);
  const { name, size, batch } = source;
  const training = { ...options, name, size, batch };
  if (isSynchronous && fitsIntoMemory(releasedPeakBytes)) {
    const stop = releaseEarly();
    try {
      return await timeStep(build, trace, {
        ...training,
        onProgress: (steps) => tell(`timing the ops of ${name}: ${steps} steps`),
      });
    } catch (error) {
      // The model's steps differ from each other.
      if (!(error instanceof RematError && error.code === "STEP_MISMATCH")) throw error;
    } finally {
      stop();
    }
  }
  const backend = trace.header.backend as BackendName;
  return {
    trace: await timeCalls(trace, tell, timesPath),
    hostMs: await timeFakeStep(build, { ...training, backend }),
  };
}

/** What steps hold, and what kernels and the heap take beside it. */
function fitsIntoMemory(peakBytes: number): boolean {
  return 1.25 * peakBytes + 500e6 < availableMemory();
}

/** Bytes that this process may still take; a limit of its control group counts from Node 20.13 on. */
function availableMemory(): number {
  const { availableMemory: ask } = process as { availableMemory?: () => number };
  return ask?.call(process) ?? freemem();
}

/** What a step holds with early release, predicted. */
export async function earlyReleasePeak(
  source: TrainingSource,
  backend: BackendName,
): Promise<ReturnType<typeof recordedPeak>> {
  const stop = releaseEarly();
  try {
    return recordedPeak(await traceTraining(source, backend));
  } finally {
    stop();
  }
}

/** Times every call by itself; what was timed before is read from a file and added to it. */
async function timeCalls(
  trace: Trace,
  tell: (text: string) => void,
  timesPath: string = join(cacheFolder(), "benchmark.json"),
): Promise<Trace> {
  const cache = readTimes(timesPath);
  const known = cache.size;
  const { trace: timed } = await benchmarkTrace(trace, {
    cache,
    onProgress: ({ doneCalls, totalCalls, kernel }) => tell(`timing ${doneCalls}/${totalCalls}: ${kernel}`),
  });
  if (cache.size > known) await writeTimes(timesPath, cache);
  return timed;
}

/** A file that is missing or damaged costs time, not the run. */
function readTimes(path: string): BenchmarkCache {
  try {
    return BenchmarkCache.parse(readFileSync(path, "utf8"));
  } catch {
    return new BenchmarkCache();
  }
}

/** As a whole, since another run may read it. A cache that cannot be written to is no reason to fail. */
async function writeTimes(path: string, cache: BenchmarkCache): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(draft, JSON.stringify(cache));
    await rename(draft, path);
  } catch (error) {
    process.emitWarning(`${path} cannot be written: ${(error as Error).message}`);
  }
}

/** What a step takes without a plan. */
export function stockStep({ trace, hostMs }: TimedStep): StepPrediction {
  return { ...recordedPeak(trace), stepMs: sumMs(trace) + hostMs, ops: trace.ops.count, recomputedOps: 0 };
}

/** What it takes after a plan. */
export function plannedStep({ trace, hostMs }: TimedStep, plan: Plan): StepPrediction {
  const again = plan.steps.filter((step) => step.isAgain);
  const extraMs = again.reduce((sum, { op }) => sum + (trace.ops.runtimeMs[op] || 0), 0);
  const { bytesByCategory } = followedPeak(trace, plan);
  return {
    peakBytes: plan.predicted.peakBytes,
    bytesByCategory,
    stepMs: sumMs(trace) + hostMs + extraMs,
    ops: trace.ops.count,
    recomputedOps: again.length,
  };
}

function sumMs({ ops }: Trace): number {
  let sum = 0;
  for (const ms of ops.runtimeMs) if (ms > 0) sum += ms;
  return sum;
}

/** What is there before the step and after it: weights, optimizer state and the batch. */
export function restingBytesOf({ storages }: Trace): number {
  let sum = 0;
  for (let s = 0; s < storages.count; s++) if (resting.has(storages.category[s])) sum += storages.bytes[s];
  return sum;
}

const resting: ReadonlySet<number> = new Set([
  Category.parameter,
  Category.buffer,
  Category.optimizerState,
  Category.input,
]);
