import { openDispatchMode } from "@remat/dispatch-hook";
import type { Trace } from "@remat/trace";
import { defineModel, tfNamespace } from "./model-definition.js";
import { OpStopwatch, type StepTimes } from "./op-stopwatch.js";
import { disposeDefinition, type TrainingStepOptions, trainingStep } from "./training-step.js";

export interface TimeStepOptions extends TrainingStepOptions {
  readonly name?: string;
  readonly size?: "full" | "tiny";
  readonly batch?: number | undefined;
  /** Steps before the first that counts (2). */
  readonly warmUpSteps?: number;
  /** Steps that count at least (2) and at most (7). */
  readonly minSteps?: number;
  readonly maxSteps?: number;
  /** Milliseconds after which no further step is taken (8,000). */
  readonly budgetMs?: number;
  readonly onProgress?: (doneSteps: number) => void;
}

/**
 * Times each op of a trace where it runs: in real training steps of its model on the current backend, with the caches and the heap as other ops
 * leave them. Takes the memory of such steps, under whatever modes the caller has opened (`releaseEarly`). On a backend whose kernels may still
 * run when they have returned (webgl, a GPU) use `benchmarkTrace` of `@remat/runtime-estimator/benchmark` instead.
 *
 * @throws RematError `STEP_MISMATCH` where a step does not run the trace's ops; and as `traceStep` does
 * @example
 * const { trace: timed, hostMs } = await timeStep(build, trace, { batch: 8 });
 */
export async function timeStep(exported: unknown, trace: Trace, options: TimeStepOptions = {}): Promise<StepTimes> {
  const { size = "full", batch, name = trace.header.model ?? "model" } = options;
  const { warmUpSteps = 2, minSteps = 2, maxSteps = 7, budgetMs = 8000 } = options;
  const scope = <T>(_name: string, fn: () => T) => fn();
  const definition = await defineModel(exported, { tf: tfNamespace(), size, batch, scope }, name);
  const stopwatch = new OpStopwatch(trace);
  const close = openDispatchMode(stopwatch);
  try {
    const step = trainingStep(definition, options);
    let doneSteps = 0;
    const takeStep = async () => {
      const ms = stopwatch.time(() => step({ loss: (value) => void value.dataSync() }));
      options.onProgress?.(++doneSteps);
      // Garbage is collected between steps, too, as in training.
      await new Promise((resolve) => setTimeout(resolve));
      return ms;
    };
    for (let i = 0; i < warmUpSteps; i++) await takeStep();
    stopwatch.reset();
    let spentMs = 0;
    for (let i = 0; i < minSteps || (i < maxSteps && spentMs < budgetMs); i++) spentMs += await takeStep();
    return stopwatch.times();
  } finally {
    close();
    disposeDefinition(definition);
  }
}
