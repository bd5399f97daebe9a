import { Phase, type Plan, type Trace } from "@remat/trace";

/**
 * Returns the time of a step in milliseconds: its ops, the ops that `plan` recomputes, and the time outside of ops. An
 * op without a time counts as 0.
 *
 * @example
 * stepMs(priceTrace(trace, deviceSpec("a100"))); // all ops, one after the other
 */
export function stepMs({ ops: { runtimeMs } }: StepOps, { hostMs = 0, plan }: StepMsOptions = {}): number {
  let sum = hostMs;
  for (const ms of runtimeMs) if (ms > 0) sum += ms;
  for (const { op, isRecomputed } of plan?.steps ?? []) if (isRecomputed && runtimeMs[op] > 0) sum += runtimeMs[op];
  return sum;
}

/** Time of a step's ops in milliseconds, by pass. */
export interface StepTimes {
  /** Forward pass. */
  readonly forwardMs: number;
  /** Backward pass, including recomputation. */
  readonly backwardMs: number;
  /** Weight update. 0 if the trace has none. */
  readonly optimizerMs: number;
}

/**
 * Returns the milliseconds of a step's passes and its update. Ops of other work in the process (phase `outside`) do not
 * count.
 *
 * @example
 * stepTimes(priceTrace(trace, deviceSpec("a100"))); // { forwardMs: 4.2, backwardMs: 13.1, optimizerMs: 0.06 }
 */
export function stepTimes({ ops: { runtimeMs, phase, count } }: Pick<Trace, "ops">): StepTimes {
  const sums = { forwardMs: 0, backwardMs: 0, optimizerMs: 0 };
  for (let op = 0; op < count; op++) {
    const ms = runtimeMs[op] > 0 ? runtimeMs[op] : 0;
    if (phase[op] === Phase.forward) sums.forwardMs += ms;
    else if (phase[op] === Phase.optimizer) sums.optimizerMs += ms;
    else if (phase[op] !== Phase.outside) sums.backwardMs += ms;
  }
  return sums;
}

/** Returns the total time of the step in milliseconds. @example `msOfTimes(stepTimes(trace))` */
export function msOfTimes({ forwardMs, backwardMs, optimizerMs }: StepTimes): number {
  return forwardMs + backwardMs + optimizerMs;
}

/** The part of a trace that `stepMs` reads. */
export type StepOps = { readonly ops: Pick<Trace["ops"], "runtimeMs"> };

/** Options of `stepMs`. */
export interface StepMsOptions {
  /** Time outside of ops in milliseconds. Default: 0. */
  readonly hostMs?: number;
  /** The plan whose recomputation is added. Default: none. */
  readonly plan?: Pick<Plan, "steps"> | undefined;
}

/**
 * Counts the training steps of a trace. A step ends with the weight update or, if a trace has no update, with the
 * backward pass. Several passes whose gradients are accumulated before an update are one step. A trace with only a
 * forward pass has one step.
 */
export function countSteps({ ops: { count, phase } }: Trace): number {
  let hasUpdate = false;
  for (let op = 0; op < count; op++) if (phase[op] === Phase.optimizer) hasUpdate = true;
  const ending = hasUpdate ? Phase.optimizer : Phase.backward;
  let steps = 0;
  let isBegun = false;
  for (let op = 0; op < count; op++) {
    if (phase[op] === Phase.forward) isBegun = true;
    else if (isBegun && phase[op] === ending) {
      steps++;
      isBegun = false;
    }
  }
  return Math.max(steps, count > 0 ? 1 : 0);
}
