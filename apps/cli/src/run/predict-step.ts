import { mkdirSync, readFileSync } from "node:fs";
import { freemem } from "node:os";
import { dirname, join } from "node:path";
import { type BackendName, cacheFolder } from "@remat/backends/node";
import { applyPlan, releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { type HeldPeak, heldPeak, holdPlan } from "@remat/memory";
import { replaceFile } from "@remat/output-file";
import { planCheckpointing } from "@remat/planner";
import { stepMs } from "@remat/runtime-estimator";
import { BenchmarkCache, benchmarkTrace } from "@remat/runtime-estimator/benchmark";
import { type Plan, RematError, RuntimeSource, type Trace } from "@remat/trace";
import { type StepWay, timeFakeStep, timeStep, traceFakeStep } from "@remat/tracer";
import { loadModel, type StepSource } from "../load-model.js";
import type { StepPrediction } from "./planning-job.js";

/** Traces a step without data, as on a backend. */
export async function traceTraining(source: StepSource, backend: BackendName): Promise<Trace> {
  const { name, request } = source;
  return traceFakeStep(await loadModel(source), { ...request, name, backend });
}

/** A step's ops and what is around them, timed on the backend where it is to run. */
export interface TimedStep {
  readonly trace: Trace;
  /** Milliseconds of a step outside of ops, by how it is taken. */
  readonly hostMs: Readonly<Record<WayToTrain, number>>;
}

const waysToTrain = ["stock", "released", "planned"] as const;
export type WayToTrain = (typeof waysToTrain)[number];

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
  source: StepSource,
  { releasedPeakBytes, isSynchronous, timesPath, tell }: TimingOptions,
): Promise<TimedStep> {
  const build = await loadModel(source);
  const { name, request } = source;
  const training = { ...request, name };
  if (isSynchronous && fitsIntoMemory(releasedPeakBytes)) {
    try {
      const { trace: timed, hostMsByWay } = await timeStep(build, trace, {
        ...training,
        ways: await stepWays(trace),
        warmUpSteps: 1,
        inARow: 2,
        minSteps: 1,
        maxSteps: 3,
        onProgress: (steps) => tell(`timing the ops of ${name}: ${steps} steps`),
      });
      return { trace: timed, hostMs: hostMsOf(hostMsByWay) };
    } catch (error) {
      // The model's steps differ from each other.
      if (!(error instanceof RematError && mismatches.has(error.code))) throw error;
    }
  }
  const fake = { ...training, backend: trace.header.backend as BackendName };
  const timed = await timeCalls(trace, tell, timesPath);
  const stock = await timeFakeStep(build, fake);
  const stop = releaseEarly();
  try {
    const released = await timeFakeStep(build, fake);
    return { trace: timed, hostMs: { stock, released, planned: released } };
  } finally {
    stop();
  }
}

const mismatches: ReadonlySet<string> = new Set(["STEP_MISMATCH", "PLAN_MISMATCH"]);

/**
 * Returns the ways to train, so that steps can be taken in all of them for what they take outside of ops. None holds much more than early release does:
 * stock's way fills its arrays, but releases early, too; the plan makes nothing again, and holds besides what early release does not save. Only
 * under a plan are ops watched in training.
 */
export async function stepWays(trace: Trace): Promise<readonly StepWay[]> {
  const { count } = trace.ops;
  const evenly = trace.withRuntimes({
    runtimeMs: new Float64Array(count).fill(1),
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured),
  });
  const { point } = await planCheckpointing(evenly, { budgetFraction: 1, timeMs: 100 });
  const ways: Readonly<Record<WayToTrain, StepWay>> = {
    stock: { open: () => openDispatchMode({ releasesEarly: true, prunesSaved: true }), times: "step" },
    released: { open: releaseEarly, times: "both" },
    planned: { open: () => (point === undefined ? releaseEarly() : applyPlan(point.plan).close), times: "ops" },
  };
  return waysToTrain.map((way) => ways[way]);
}

/** Returns, by way, what was measured in the order of {@link stepWays}. */
export function hostMsOf(hostMsByWay: readonly number[]): TimedStep["hostMs"] {
  const [stock, released, planned] = hostMsByWay;
  return { stock, released, planned };
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

/** Predicts what a step holds with early release. */
export async function earlyReleasePeak(source: StepSource, backend: BackendName): Promise<HeldPeak> {
  const stop = releaseEarly();
  try {
    return heldPeak(await traceTraining(source, backend));
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
  if (cache.size > known) writeTimes(timesPath, cache);
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

/** A cache that cannot be written to is no reason to fail. */
function writeTimes(path: string, cache: BenchmarkCache): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, JSON.stringify(cache));
  } catch (error) {
    process.emitWarning(`${path} cannot be written: ${(error as Error).message}`);
  }
}

/** Predicts what a step of stock takes. */
export function stockStep({ trace, hostMs }: TimedStep): StepPrediction {
  return unplannedStep(trace, heldPeak(trace), hostMs.stock);
}

/** Predicts what it takes with early release. */
export function releasedStep({ trace, hostMs }: TimedStep, released: HeldPeak): StepPrediction {
  return unplannedStep(trace, released, hostMs.released);
}

/** What it takes where each op runs once. */
function unplannedStep(trace: Trace, { peakBytes, bytesByCategory }: HeldPeak, hostMs: number): StepPrediction {
  return { peakBytes, bytesByCategory, stepMs: stepMs(trace, { hostMs }), ops: trace.ops.count, recomputedOps: 0 };
}

/** Predicts what it takes after a plan. */
export function plannedStep({ trace, hostMs }: TimedStep, plan: Plan): StepPrediction {
  const { ops } = trace;
  // Of this trace: the plan may have been made for a backend whose buffers differ.
  const { peakBytes, bytesByCategory } = holdPlan(trace, plan);
  return {
    peakBytes,
    bytesByCategory,
    stepMs: stepMs(trace, { hostMs: hostMs.planned, plan }),
    ops: ops.count,
    recomputedOps: plan.steps.filter((step) => step.isRecomputed).length,
  };
}
