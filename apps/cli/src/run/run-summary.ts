import type { StepPrediction } from "@remat/checkpoint/predict";
import type { MemoryMoment } from "@remat/memory";
import type { PlanningResult, Wanted } from "./planning-job.js";
import type { StepResult } from "./step-job.js";
import type { Verification } from "./verify-run.js";

/** Measured memory and time of steps. */
export interface StepMeasurement {
  /** Peak memory of any step by buffer, including weights. */
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** Tensors alive at that peak, in the recorded step. */
  readonly moment?: MemoryMoment | undefined;
  /** Highest resident memory beyond that of the process with libraries and backend loaded. */
  readonly residentBytes: number;
  readonly stepMs: number;
  readonly cpuMs: number;
  readonly ops: number;
  readonly recomputedOps: number;
  /** The part of `recomputedOps` whose results were accessed outside the plan. */
  readonly recomputedOnTouch: number;
  /** Bytes offloaded in the last step. */
  readonly offloadedBytes: number;
  readonly reloadedBytes: number;
}

/** Result of `remat run`. */
export interface RunSummary {
  readonly model: string;
  readonly wanted: Wanted["kind"];
  readonly budgetBytes: number | undefined;
  readonly backend: string;
  readonly batch: number;
  readonly steps: number;
  readonly notes: readonly string[];
  readonly restingBytes: number;
  /** Prediction for a step without a plan. Percentages are relative to its peak. */
  readonly stock: StepPrediction;
  readonly predicted: StepPrediction;
  readonly measured: StepMeasurement;
  readonly losses: readonly number[];
  readonly verification: Verification | undefined;
}

/** Combines prediction and measurement. */
export function summarizeRun(
  planning: PlanningResult,
  { steps, batch, notes, loadedBytes, peakResidentBytes, recorded }: StepResult,
  wanted: Wanted["kind"],
  verification: Verification | undefined,
): RunSummary {
  const last = steps[steps.length - 1];
  // The first step is a warm-up that allocates memory and compiles code.
  const timed = steps.length > 1 ? steps.slice(1) : steps;
  return {
    model: planning.modelName,
    wanted,
    budgetBytes: planning.budgetBytes,
    backend: planning.backendNote,
    batch,
    steps: steps.length,
    notes: [...new Set([...planning.notes, ...notes])],
    restingBytes: planning.restingBytes,
    stock: planning.stock,
    predicted: planning.predicted,
    measured: {
      peakBytes: Math.max(...steps.map((step) => step.peakBytes ?? 0)),
      bytesByCategory: recorded?.bytesByCategory ?? {},
      moment: recorded?.moment,
      residentBytes: peakResidentBytes - loadedBytes,
      stepMs: median(timed.map((step) => step.wallMs)),
      cpuMs: median(timed.map((step) => step.cpuMs)),
      ops: recorded?.ops ?? 0,
      recomputedOps: last.recomputedOps ?? recorded?.recomputedOps ?? 0,
      recomputedOnTouch: last.recomputedOnTouch ?? 0,
      offloadedBytes: last.offloadedBytes ?? 0,
      reloadedBytes: last.reloadedBytes ?? 0,
    },
    losses: steps.map((step) => step.loss),
    verification,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
