import { openDispatchMode } from "@remat/dispatch-hook";
import type { Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { decideCheckpointing } from "./decide-checkpointing.js";
import { OpStopwatch, type StepTimes, type StepWay } from "./op-stopwatch.js";
import { stepClock } from "./step-clock.js";
import type { StepRequest } from "./step-spec.js";
import { prepareStep, type TrainingStep } from "./training-step.js";

export interface TimeStepOptions extends StepRequest {
  readonly name?: string | undefined;
  /** Steps before the first that counts (2). */
  readonly warmUpSteps?: number;
  /** Ways to run a step, which take turns. Left out: one, with what the caller has opened, of which each op is timed. */
  readonly ways?: readonly StepWay[];
  /** Steps of a way that are taken in a row (1), after one that does not count where the way has changed. */
  readonly inARow?: number;
  /** Turns at least (2) and at most (7). */
  readonly minSteps?: number;
  readonly maxSteps?: number;
  /** Milliseconds after which no further turn is taken (8,000). */
  readonly budgetMs?: number;
  readonly onProgress?: (doneSteps: number) => void;
}

/**
 * Times each op of a trace where it runs: in real training steps of its model on the current backend, with the caches and the heap as other ops
 * leave them. Takes the memory of such steps, under whatever modes the caller has opened. On a backend whose kernels may still run when they
 * have returned (webgl, a GPU) use `benchmarkTrace` of `@remat/runtime-estimator/benchmark` instead. On backends whose kernels run on one thread, steps are timed by the CPU time of the process, so that
 * other programs on the machine do not change what is found.
 *
 * @throws RematError `STEP_MISMATCH` where a step does not run the trace's ops; and as `traceStep` does
 * @example
 * const { trace: timed, hostMs } = await timeStep(build, trace, { batch: 8 });
 * const ways: StepWay[] = [{ open: () => () => {} }, { open: releaseEarly, times: "step" }];
 * const { hostMsByWay: [stockMs, earlyMs] } = await timeStep(build, trace, { ways });
 */
export async function timeStep(exported: unknown, trace: Trace, options: TimeStepOptions = {}): Promise<StepTimes> {
  const { name = trace.header.model } = options;
  const {
    ways = [{ open: () => () => {} }],
    warmUpSteps = 2,
    inARow = 1,
    minSteps = 2,
    maxSteps = 7,
    budgetMs = 8000,
  } = options;
  const stopwatch = new OpStopwatch(trace, stepClock(tf.getBackend()));
  const turn = stopwatch.turn(ways, inARow);
  // The hook stays for all steps, as in training: put in anew for each, it would be new code each time, which runs slowly at first.
  const close = openDispatchMode({});
  const stopDeciding = decideCheckpointing(options);
  let training: TrainingStep | undefined;
  try {
    const step = await prepareStep(exported, { ...options, name });
    training = step;
    const takeStep = () => step.take({ loss: (value) => void value.dataSync() });
    let doneSteps = 0;
    const rest = () => {
      doneSteps++;
      options.onProgress?.(doneSteps);
      // Garbage is collected between steps, too, as in training.
      return new Promise((resolve) => setTimeout(resolve));
    };
    // An optimizer makes its state in the first one, which therefore has other ops.
    for (let i = 0; i < warmUpSteps; i++) {
      const close = ways[i % ways.length].open();
      try {
        takeStep();
      } finally {
        close();
      }
      await rest();
    }
    let spentMs = 0;
    for (let i = 0; i < minSteps || (i < maxSteps && spentMs < budgetMs); i++)
      for (const timed of turn) {
        spentMs += timed(takeStep);
        await rest();
      }
    return stopwatch.times();
  } finally {
    stopDeciding();
    close();
    training?.dispose();
  }
}
