import { Phase, type Plan, type Trace } from "@remat/trace";

/**
 * Returns the milliseconds of a step: what its ops take, what `plan` recomputes of them, and what the step takes outside of ops. An op without a
 * time takes none.
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

/** Milliseconds of a step's ops, by what they are for. */
export interface StepTimes {
  readonly forwardMs: number;
  /** With what is recomputed for it. */
  readonly backwardMs: number;
  /** 0 where the trace tells of no update. */
  readonly optimizerMs: number;
}

/**
 * Returns the milliseconds of a step's passes and of its update; ops of other work in the process (phase `outside`) do not count.
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

/** Returns what the step takes in all. @example `msOfTimes(stepTimes(trace))` */
export function msOfTimes({ forwardMs, backwardMs, optimizerMs }: StepTimes): number {
  return forwardMs + backwardMs + optimizerMs;
}

/** What is needed of a trace. */
export type StepOps = { readonly ops: Pick<Trace["ops"], "runtimeMs"> };

export interface StepMsOptions {
  /** Milliseconds outside of ops; 0 if not given. */
  readonly hostMs?: number;
  /** Left out: no op is recomputed. */
  readonly plan?: Pick<Plan, "steps"> | undefined;
}

/**
 * Counts the training steps of a trace: a forward pass and, once it is over, the update of weights, or where a trace has no update, the
 * backward pass. (Passes whose gradients add up before an update are one step; a forward pass alone, where there is nothing else, is one.)
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
