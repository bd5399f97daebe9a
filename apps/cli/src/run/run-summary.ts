import type { StepPrediction } from "@remat/checkpoint/predict";
import type { MemoryMoment } from "@remat/memory";
import type { PlanningResult, Wanted } from "./planning-job.js";
import type { StepResult } from "./step-job.js";
import type { Verification } from "./verify-run.js";

/** What a step took. */
export interface StepMeasurement {
  /** The most bytes alive at once in any step, weights included, by buffer. */
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** What was alive at that peak, in the step that was recorded. */
  readonly moment?: MemoryMoment | undefined;
  /** The most that was resident beyond the process with libraries and backend loaded. */
  readonly residentBytes: number;
  readonly stepMs: number;
  readonly cpuMs: number;
  readonly ops: number;
  readonly recomputedOps: number;
  /** Of these, those recomputed because what they made was touched against the plan. */
  readonly recomputedOnTouch: number;
  /** In the last step. */
  readonly offloadedBytes: number;
  readonly reloadedBytes: number;
}

/** What `remat run` found. */
export interface RunSummary {
  readonly model: string;
  readonly wanted: Wanted["kind"];
  readonly budgetBytes: number | undefined;
  readonly backend: string;
  readonly batch: number;
  readonly steps: number;
  readonly notes: readonly string[];
  readonly restingBytes: number;
  /** Predicted, of a step without a plan: percentages are of its peak. */
  readonly stock: StepPrediction;
  readonly predicted: StepPrediction;
  readonly measured: StepMeasurement;
  readonly losses: readonly number[];
  readonly verification: Verification | undefined;
}

/** Puts predicted beside measured. */
export function summarizeRun(
  planning: PlanningResult,
  { steps, batch, notes, loadedBytes, peakResidentBytes, recorded }: StepResult,
  wanted: Wanted["kind"],
  verification: Verification | undefined,
): RunSummary {
  const last = steps[steps.length - 1];
  // The first step warms up: memory is allocated, code compiled.
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
