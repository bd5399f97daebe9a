import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type BackendName, cacheFolder } from "@remat/dispatch-hook";
import { followedPeak, recordedPeak } from "@remat/reporting";
import { BenchmarkCache, benchmarkTrace } from "@remat/runtime-estimator/benchmark";
import { Category, type Plan, type Trace } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import type { StepPrediction } from "./planning-job.js";
import { type TrainingSource, trainingOf } from "./training.js";

/** Traces a step without data, the second one: an optimizer makes its state in the first. */
export async function traceTraining(source: TrainingSource, backend: BackendName): Promise<Trace> {
  const { build, options } = await trainingOf(source);
  const { name, size, batch } = source;
  return traceFakeStep(build, { ...options, name, size, batch, backend, stepsBefore: 1 });
}

/** Times every op of a trace on the current backend; what was timed before is read from a file and added to it. */
export async function timeOps(
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
export function stockStep(trace: Trace): StepPrediction {
  return { ...recordedPeak(trace), stepMs: sumMs(trace), ops: trace.ops.count, recomputedOps: 0 };
}

/** What it takes after a plan. */
export function plannedStep(trace: Trace, plan: Plan): StepPrediction {
  const again = plan.steps.filter((step) => step.isAgain);
  const extraMs = again.reduce((sum, { op }) => sum + (trace.ops.runtimeMs[op] || 0), 0);
  const { bytesByCategory } = followedPeak(trace, plan);
  return {
    peakBytes: plan.predicted.peakBytes,
    bytesByCategory,
    stepMs: sumMs(trace) + extraMs,
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
