import { openDispatchMode } from "@remat/dispatch-hook";
import type { BackendName } from "@remat/dispatch-hook/backends";
import { type DeviceCalibration, type KernelSpeed, RematError, type Trace } from "@remat/trace";
import { cpuClock, OpStopwatch, prepareStep, type StepTimes, type TrainingStep, traceFakeStep } from "@remat/tracer";
import type { StepRequest } from "@remat/tracer/step";
import * as tf from "@tensorflow/tfjs-core";
import { describeVersions, isAsynchronous } from "../benchmark/environment.js";
import { describeMachine, deviceSpec, opCost } from "../index.js";
import { opCallOf } from "../op-signatures.js";
import type { CalibratedDevice, CalibrateOptions } from "./calibrate.js";
import type { CalibrationCase } from "./calibration-case.js";
import { allCases, calibrationStep, randomValues, runCase, type SizedCase } from "./calibration-step.js";
import { dispatchStep } from "./dispatch-step.js";
import { fitDevice } from "./fit-device.js";
import { fitLaunchFactors } from "./fit-launch-factors.js";
import { median } from "./fit-speed.js";

/** Change of speed between the first and the last rounds above which a note is added. */
export const mostDrift = 0.2;

/** Rounds without which no median is robust. */
const fewestRounds = 3;

/** Measures this machine (see `calibrate`). */
export async function measureDevice(options: CalibrateOptions): Promise<CalibratedDevice> {
  checkBackend();
  const { budgetMs = 40_000, name = "here", facts = {} } = options;
  const { cases, notes } = await runnableCases(options.cases ?? allCases(), {
    ...options,
    mostMs: Math.max(10, budgetMs / 300),
  });
  const { timed, hostMs, drift } = await measureRounds(cases, budgetMs, options);
  const { kernels, cacheBytes, error } = fitDevice(timed);
  const base = deviceSpec("cpu");
  const { tflops = base.tflops["float32"], memoryGBps = base.memoryGBps } = peaksOf(kernels);
  return {
    name,
    tflops: { float32: tflops },
    memoryGBps,
    allocationUnitBytes: base.allocationUnitBytes,
    ...facts,
    kernels,
    calibration: {
      backend: tf.getBackend(),
      backendVersion: describeVersions(),
      machine: describeMachine(),
      at: new Date().toISOString(),
      cacheBytes,
      ...(await measureDispatch({ timed, hostMs }, kernels, Math.min(6000, budgetMs / 5))),
      error,
      drift,
      notes: [...notes, ...driftNotes(drift)],
    },
    source: "measured by remat calibrate",
  };
}

function checkBackend(): void {
  const isFake = "standsFor" in tf.backend();
  if (!isFake && !isAsynchronous()) return;
  throw new RematError(
    "CALIBRATE_BACKEND",
    `backend '${tf.getBackend()}' ${isFake ? "does not compute" : "may run kernels after they return"}, so its kernels cannot be calibrated. Choose tensorflow, wasm or cpu.`,
  );
}

interface RunnableCases {
  readonly cases: readonly SizedCase[];
  readonly notes: readonly string[];
}

/** Runs each case once, and keeps those that work and are fast enough to run many times. */
async function runnableCases(
  cases: readonly CalibrationCase[],
  { mostMs, onProgress, signal }: CalibrateOptions & { readonly mostMs: number },
): Promise<RunnableCases> {
  const values = randomValues();
  const kept: SizedCase[] = [];
  const slow = new Set<string>();
  const failed = new Map<string, string>();
  const clock = cpuClock();
  try {
    for (const [at, each] of cases.entries()) {
      signal?.throwIfAborted();
      if (!slow.has(each.kind)) {
        const run = () => {
          const start = clock();
          const elements = runCase(each, values);
          return { elements, isSlow: clock() - start > mostMs };
        };
        try {
          // The first call may also compile code.
          const { elements, isSlow } = run();
          if (isSlow && run().isSlow) slow.add(each.kind);
          else kept.push({ ...each, elements });
        } catch (error) {
          failed.set(each.kind, `${each.name} failed: ${(error as Error).message.split("\n")[0]}`);
        }
      }
      onProgress?.({ phase: "checking", share: (at + 1) / cases.length });
      if (at % 20 === 0) await new Promise((resolve) => setTimeout(resolve));
    }
  } finally {
    values.dispose();
  }
  const notes = [...failed.values()];
  if (slow.size > 0) notes.push(slowNote([...slow]));
  return { cases: kept, notes };
}

function slowNote(kinds: readonly string[]): string {
  const more = kinds.length > 3 ? ` and ${kinds.length - 3} other kinds of ops` : "";
  return `large sizes of ${kinds.slice(0, 3).join(", ")}${more} take too long to measure, so their times are extrapolated`;
}

/** Times all cases in rounds until the time is up. */
async function measureRounds(cases: readonly SizedCase[], budgetMs: number, { onProgress, signal }: CalibrateOptions) {
  const step = calibrationStep(cases);
  const request = { backend: tf.getBackend() as BackendName, predict: true };
  const trace = await traceFakeStep(step, request);
  const stopwatch = new OpStopwatch(trace, cpuClock(), cpuClock());
  const roundMs = await takeTimed(step, request, stopwatch, {
    budgetMs,
    onRound: (share) => {
      signal?.throwIfAborted();
      onProgress?.({ phase: "measuring", share });
    },
  });
  const part = Math.ceil(roundMs.length / 3);
  const { trace: timed, hostMs } = stopwatch.times();
  return { timed, hostMs, drift: median(roundMs.slice(-part)) / median(roundMs.slice(0, part)) };
}

/**
 * Measures a training step of tiny ops: the time that TensorFlow.js adds to each op, and the launch costs of its phases
 * relative to those of the fitted kernels. Compared with the rounds, it also shows what freeing memory takes.
 */
async function measureDispatch(
  rounds: Pick<StepTimes, "hostMs"> & { readonly timed: Trace },
  kernels: Readonly<Record<string, KernelSpeed>>,
  budgetMs: number,
): Promise<Pick<DeviceCalibration, "dispatchUs" | "freeGBps" | "launchFactors">> {
  const request = { backend: tf.getBackend() as BackendName, optimizer: "adam" as const };
  const trace = await traceFakeStep(dispatchStep, request);
  const launches = new OpStopwatch(trace, cpuClock(), cpuClock());
  await takeTimed(dispatchStep, request, launches, { budgetMs: budgetMs / 2, warmUpSteps: 20 });
  const { trace: launched, hostMs } = launches.times();
  // A clock that is read for each op would count as time of TensorFlow.js.
  const beside = new OpStopwatch(trace, cpuClock());
  await takeTimed(dispatchStep, request, beside, { budgetMs: budgetMs / 2, warmUpSteps: 5 });
  const freeMs = rounds.hostMs - (hostMs / trace.ops.count) * rounds.timed.ops.count;
  return {
    dispatchUs: Math.max(0, (1e3 * beside.times().hostMs) / trace.ops.count),
    ...(freeMs > 0 && { freeGBps: bytesWritten(rounds.timed) / freeMs / 1e6 }),
    launchFactors: fitLaunchFactors(launched, kernels),
  };
}

/** Bytes of all results of a trace. Views have none of their own. */
function bytesWritten(trace: Trace): number {
  let bytes = 0;
  for (let op = 0; op < trace.ops.count; op++) bytes += opCost(opCallOf(trace, op), "tfjs").bytesWritten;
  return bytes;
}

interface Rounds {
  readonly budgetMs: number;
  /** Default: 1. */
  readonly warmUpSteps?: number;
  /** Called after each round with the share of the time that is spent, from 0 to 1. */
  readonly onRound?: (share: number) => void;
}

/** Runs and times steps until the time is up, and returns the milliseconds of each. */
async function takeTimed(
  exported: unknown,
  request: StepRequest,
  stopwatch: OpStopwatch,
  { budgetMs, warmUpSteps = 1, onRound }: Rounds,
): Promise<readonly number[]> {
  // The hook stays installed for all steps. Installing it for each step would create new code, which is slow at first.
  const close = openDispatchMode({});
  let step: TrainingStep | undefined;
  try {
    step = await prepareStep(exported, request);
    const take = step.take.bind(step, undefined);
    for (let i = 0; i < warmUpSteps; i++) take();
    const roundMs: number[] = [];
    const start = performance.now();
    for (let share = 0; roundMs.length < fewestRounds || share < 1; ) {
      roundMs.push(stopwatch.time(take));
      share = (performance.now() - start) / budgetMs;
      onRound?.(Math.min(1, share));
      // Allows garbage collection between steps, as in training.
      await new Promise((resolve) => setTimeout(resolve));
    }
    return roundMs;
  } finally {
    step?.dispose();
    close();
  }
}

/** The rates of the classes that reach the highest ones, for the roofline of ops that no measured speed covers. */
function peaksOf(kernels: Readonly<Record<string, KernelSpeed>>) {
  const { matmul, convolution, elementwise, movement } = kernels;
  return {
    tflops: highest([matmul?.tflops, convolution?.tflops]),
    memoryGBps: highest([elementwise?.beyondCacheGBps, movement?.beyondCacheGBps]),
  };
}

function highest(rates: readonly (number | undefined)[]): number | undefined {
  const known = rates.filter((rate) => rate !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function driftNotes(drift: number): readonly string[] {
  const change = Math.round(100 * Math.abs(drift - 1));
  if (change <= 100 * mostDrift) return [];
  const how = drift > 1 ? "slower" : "faster";
  return [
    `the last rounds were ${change}% ${how} than the first: the processor changes its speed, or other programs ran. Calibrate again when the machine is idle.`,
  ];
}
