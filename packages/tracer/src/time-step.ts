import { openDispatchMode } from "@remat/dispatch-hook";
import type { Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { decideCheckpointing } from "./decide-checkpointing.js";
import { OpStopwatch, type StepTimes, type StepWay } from "./op-stopwatch.js";
import { cpuClock, stepClock } from "./step-clock.js";
import type { StepRequest } from "./step-spec.js";
import { prepareStep, type TrainingStep } from "./training-step.js";

/** Options of `timeStep`. */
export interface TimeStepOptions extends StepRequest {
  /** Name of the model. */
  readonly name?: string | undefined;
  /** Number of steps before the first that counts. Default: 2. */
  readonly warmUpSteps?: number;
  /** Strategies to run the step, which take turns. Default: one strategy, which opens no modes and times each op. */
  readonly ways?: readonly StepWay[];
  /**
   * How many steps of a strategy run in a row. After a change of strategy, one more step runs first, which does not
   * count. Default: 1.
   */
  readonly inARow?: number;
  /** Minimum number of turns (see `ways` and `inARow`). Default: 2. */
  readonly minSteps?: number;
  /** Maximum number of turns. Default: 7. */
  readonly maxSteps?: number;
  /** Time after which no further turn begins, in milliseconds. Default: 8,000. */
  readonly budgetMs?: number;
  /**
   * True to time each op and step by the shorter of wall time and CPU time, on any backend that computes on the CPU.
   * This excludes other programs, and adds about 3 µs to each op. Default: steps are timed by {@link stepClock}, and
   * ops get their share.
   */
  readonly isShared?: boolean;
  /** Called after each step. */
  readonly onProgress?: (doneSteps: number) => void;
}

/**
 * Times each op of a trace in real training steps on the current backend, so caches and the heap are in the state that
 * other ops leave. This needs as much memory as training. The steps run under the modes that you have opened.
 *
 * Use `benchmarkTrace` of `@remat/runtime-estimator/benchmark` instead on a backend whose kernels may still run after
 * they return (webgl, a GPU). If kernels run on one thread, steps are timed by CPU time, so other programs on the
 * machine do not affect the result.
 *
 * @throws RematError `STEP_MISMATCH` if a step does not run the trace's ops; also the errors of `traceStep`
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
    isShared = false,
  } = options;
  const stopwatch = isShared
    ? new OpStopwatch(trace, cpuClock(), cpuClock())
    : new OpStopwatch(trace, stepClock(tf.getBackend()));
  const turn = stopwatch.turn(ways, inARow);
  // The hook stays installed for all steps, as in training. Installing it for each step would create new code each
  // time, which is slow at first.
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
      // Allows garbage collection between steps, as in training.
      return new Promise((resolve) => setTimeout(resolve));
    };
    // The first step has other ops, because the optimizer creates its state.
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
