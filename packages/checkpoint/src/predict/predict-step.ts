import { type HeldPeak, heldPeak } from "@remat/memory";
import { holdPlan, movedBytes } from "@remat/memory/sequence";
import { stepMs } from "@remat/runtime-estimator";
import type { Plan, Trace } from "@remat/trace";
import { type TraceStepOptions, traceFakeStep } from "@remat/tracer";
import { type ReleaseEarlyOptions, releaseEarly } from "../release-early.js";
import type { TimedStep } from "./time-training.js";

/** What a step should take. */
export interface StepPrediction {
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
  readonly stepMs: number;
  readonly ops: number;
  readonly recomputedOps: number;
  /** After a plan: the same step without what is recomputed or moved, in milliseconds. It is the base of what the plan costs, and never more than `stepMs`. Left out of steps without a plan. */
  readonly unrecomputedMs?: number;
}

/**
 * Returns what a step holds with early release, without data. The step is traced for itself, which costs what tracing stock's does: no trace of stock's tells it.
 * Early release takes other gradients where those have fewer kernels (engine rule 14), and what it saves, shares and frees follows from the tape and from
 * who holds a tensor in JavaScript, of which a trace has only what became of it in stock: freed when a tidy ended.
 *
 * @param released as `releaseEarly` takes it
 * @throws as `traceFakeStep` of `@remat/tracer` does
 */
export async function predictReleasedPeak(
  exported: unknown,
  options: TraceStepOptions,
  released: ReleaseEarlyOptions = {},
): Promise<HeldPeak> {
  const stop = releaseEarly(released);
  try {
    return heldPeak(await traceFakeStep(exported, options));
  } finally {
    stop();
  }
}

/**
 * Returns what a step of stock takes.
 *
 * @param stock its trace, where what was timed has other gradients than tfjs's own
 */
export function predictStock({ trace, hostMs }: TimedStep, stock: Trace = trace): StepPrediction {
  return { ...unplannedStep(trace, heldPeak(stock), hostMs.stock), ops: stock.ops.count };
}

/** Returns what it takes with early release, which holds `released`. */
export function predictReleased({ trace, hostMs }: TimedStep, released: HeldPeak): StepPrediction {
  return unplannedStep(trace, released, hostMs.released);
}

/** Returns what it takes after a plan: never less than the same step without recomputation. */
export function predictPlanned({ trace, hostMs }: TimedStep, plan: Plan): StepPrediction {
  const { ops } = trace;
  // Of this trace: the plan may have been made for a backend whose buffers differ.
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

/** What it takes where each op runs once. */
function unplannedStep(trace: Trace, { peakBytes, bytesByCategory }: HeldPeak, hostMs: number): StepPrediction {
  return { peakBytes, bytesByCategory, stepMs: stepMs(trace, { hostMs }), ops: trace.ops.count, recomputedOps: 0 };
}
