import { type HeldPeak, heldPeak } from "@remat/memory";
import { holdPlan, movedBytes } from "@remat/memory/sequence";
import { stepMs } from "@remat/runtime-estimator";
import type { Plan, Trace } from "@remat/trace";
import { type StepVariant, type TraceStepOptions, traceFakeStep } from "@remat/tracer";
import { type ReleaseEarlyOptions, releaseEarly } from "../release-early.js";
import type { TimedStep } from "./time-training.js";

/** Predicted memory and time of a training step. */
export interface StepPrediction {
  /** Peak memory in bytes. */
  readonly peakBytes: number;
  /** Bytes of the peak in each category. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** Time of the step in milliseconds. */
  readonly stepMs: number;
  /** Number of ops, without recomputation. */
  readonly ops: number;
  /** Number of recomputed ops. */
  readonly recomputedOps: number;
  /**
   * Time of a planned step in milliseconds, without recomputation and transfers. The plan's slowdown is relative to
   * this time, which never exceeds `stepMs`. Undefined for steps without a plan.
   */
  readonly unrecomputedMs?: number;
}

/**
 * Returns the peak memory of a step with early release, without running it on data.
 *
 * @param released the options of `releaseEarly`
 * @throws RematError the same errors as `traceFakeStep` of `@remat/tracer`
 */
export async function predictReleasedPeak(
  exported: unknown,
  options: TraceStepOptions,
  released: ReleaseEarlyOptions = {},
): Promise<HeldPeak> {
  return heldPeak(await traceReleasedStep(exported, options, released));
}

/**
 * Traces a step with early release, without running it on data.
 *
 * The step is traced separately, which takes as long as the baseline trace. To trace several variants of one model, see
 * {@link releasedVariant}. A baseline trace cannot show its memory: early release uses gradients with fewer kernels
 * (engine rule 14), and its decisions depend on the tape and on tensors that JavaScript references.
 *
 * @param released the options of `releaseEarly`
 * @throws RematError the same errors as `traceFakeStep` of `@remat/tracer`
 */
export async function traceReleasedStep(
  exported: unknown,
  options: TraceStepOptions,
  released: ReleaseEarlyOptions = {},
): Promise<Trace> {
  const stop = releaseEarly(released);
  try {
    return await traceFakeStep(exported, options);
  } finally {
    stop();
  }
}

/**
 * Returns early release as a variant of a step, for `traceFakeSteps` of `@remat/tracer`. Its trace is that of
 * {@link traceReleasedStep}.
 *
 * @param released the options of `releaseEarly`
 * @example
 * const [trace, released] = await traceFakeSteps(build, { batch: 8 }, [{}, releasedVariant()]);
 */
export function releasedVariant(released: ReleaseEarlyOptions = {}): StepVariant {
  return { open: () => releaseEarly(released) };
}

/**
 * Returns the prediction for unmodified TensorFlow.js.
 *
 * @param stock its trace, if the timed trace uses other gradients than those of TensorFlow.js
 */
export function predictStock({ trace, hostMs }: TimedStep, stock: Trace = trace): StepPrediction {
  return { ...unplannedStep(trace, heldPeak(stock), hostMs.stock), ops: stock.ops.count };
}

/** Returns the prediction for a step with early release, given its peak `released`. */
export function predictReleased({ trace, hostMs }: TimedStep, released: HeldPeak): StepPrediction {
  return unplannedStep(trace, released, hostMs.released);
}

/** Returns the prediction for a step under a plan. It is never faster than the same step without recomputation. */
export function predictPlanned({ trace, hostMs }: TimedStep, plan: Plan): StepPrediction {
  const { ops } = trace;
  // Computed on this trace, because the plan may be for a backend with other buffers.
  const { peakBytes, bytesByCategory, offloaded } = holdPlan(trace, plan);
  const { linkBytesPerSecond = Number.POSITIVE_INFINITY } = plan.origin;
  const unrecomputedMs = stepMs(trace, { hostMs: hostMs.planned });
  const transferMs = (1000 * movedBytes(offloaded)) / linkBytesPerSecond;
  return {
    peakBytes,
    bytesByCategory,
    stepMs: Math.max(unrecomputedMs, stepMs(trace, { hostMs: hostMs.planned, plan }) + transferMs),
    ops: ops.count,
    recomputedOps: plan.steps.filter((step) => step.isRecomputed).length,
    unrecomputedMs,
  };
}

/** Prediction for a step that runs each op once. */
function unplannedStep(trace: Trace, { peakBytes, bytesByCategory }: HeldPeak, hostMs: number): StepPrediction {
  return { peakBytes, bytesByCategory, stepMs: stepMs(trace, { hostMs }), ops: trace.ops.count, recomputedOps: 0 };
}
