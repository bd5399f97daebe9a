import { openDispatchMode } from "@remat/dispatch-hook";
import { Phase, RematError, RuntimeSource, type Trace } from "@remat/trace";
import { defineModel, tfNamespace } from "./model-definition.js";
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

export interface StepTimes {
  /** The trace with the median runtime of each op, as `RuntimeSource.measured`, with half the interquartile range and the number of steps. */
  readonly trace: Trace;
  /** Median milliseconds of a step outside of ops: tfjs in JavaScript, the user's code, arrays that JavaScript fills. */
  readonly hostMs: number;
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
    const samples: Float64Array[] = [];
    const hostMs: number[] = [];
    let spentMs = 0;
    for (let i = 0; i < warmUpSteps + minSteps || (samples.length < maxSteps && spentMs < budgetMs); i++) {
      const start = performance.now();
      step({ loss: (value) => void value.dataSync() });
      const ms = performance.now() - start;
      const times = stopwatch.finish();
      if (i >= warmUpSteps) {
        samples.push(times);
        hostMs.push(ms - times.reduce((sum, each) => sum + each, 0));
        spentMs += ms;
      }
      options.onProgress?.(i + 1);
      // Garbage is collected between steps, too, as in training.
      await new Promise((resolve) => setTimeout(resolve));
    }
    return { trace: withTimes(trace, samples), hostMs: quantile(hostMs, 0.5) };
  } finally {
    close();
    disposeDefinition(definition);
  }
}

/** Milliseconds of the ops of a step, in the order of a trace. */
class OpStopwatch {
  private readonly trace: Trace;
  private times: Float64Array;
  private next = 0;
  private startedAt = 0;

  constructor(trace: Trace) {
    this.trace = trace;
    this.times = new Float64Array(trace.ops.count);
  }

  opStarting(): void {
    this.startedAt = performance.now();
  }

  opDone({ kernel, phase }: { readonly kernel: string; readonly phase: number }): void {
    const ms = performance.now() - this.startedAt;
    if (phase === Phase.outside) return;
    const op = this.next++;
    const expected = this.expected(op);
    if (kernel !== expected) throw mismatch(op, expected, kernel);
    this.times[op] = ms;
  }

  /** The times of the step that is over. */
  finish(): Float64Array {
    const { times, trace } = this;
    if (this.next < trace.ops.count) throw mismatch(this.next, this.expected(this.next), undefined);
    this.times = new Float64Array(trace.ops.count);
    this.next = 0;
    return times;
  }

  private expected(op: number): string | undefined {
    const { ops, strings } = this.trace;
    return op < ops.count ? strings[ops.name[op]] : undefined;
  }
}

function mismatch(op: number, expected: string | undefined, found: string | undefined): RematError {
  return new RematError(
    "STEP_MISMATCH",
    `op ${op} of the step is ${found ?? "missing"} where the trace has ${expected ?? "no more ops"}: the trace is of another model, or the model's ` +
      "steps differ. Trace this step, or price the trace with benchmarkTrace.",
  );
}

function withTimes(trace: Trace, samples: readonly Float64Array[]): Trace {
  const { count } = trace.ops;
  const timesOf = (op: number) => samples.map((sample) => sample[op]);
  return trace.withRuntimes({
    runtimeMs: Float64Array.from({ length: count }, (_, op) => quantile(timesOf(op), 0.5)),
    runtimeSpreadMs: Float64Array.from(
      { length: count },
      (_, op) => (quantile(timesOf(op), 0.75) - quantile(timesOf(op), 0.25)) / 2,
    ),
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured),
    runtimeRuns: new Int32Array(count).fill(samples.length),
  });
}

/** Between the two values that are nearest. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}
