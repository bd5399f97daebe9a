import type { DispatchInterceptor } from "@remat/dispatch-hook";
import { registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { machineMemoryBytes } from "@remat/dispatch-hook/backends";
import { ModTracker } from "@remat/mod-tracker";
import { Category, checkArgument, checkCallOptions, isRecord, isText, type Trace } from "@remat/trace";
import { resolveStep, TraceRecorder } from "@remat/tracer";
import type { LayersModel } from "@tensorflow/tfjs-layers";

/** Options of `record`. */
export interface RecordOptions {
  /** The model that the steps train, so that ops are recorded by layer. */
  readonly model?: LayersModel;
  /** Name of the model in the trace. Default: the model's own. */
  readonly name?: string;
  /** Number of steps to record. Default: 1. */
  readonly steps?: number;
  /** Number of steps to run before the recorded ones, so that optimizer state exists from the start. Default: 1. */
  readonly stepsBefore?: number;
}

/**
 * Runs real training steps one after the other and records their ops and memory. The trace can be passed to `memoryOf`,
 * `plan` and `writeTrace`, and its file to `remat ui` and `remat report`.
 *
 * @param step a function that takes one training step, asynchronous or not
 * @throws RematError `ARGUMENT`, `STEP_REQUEST` for an invalid number of steps; also any error of `step`
 * @example
 * const trace = await record(() => model.trainOnBatch(x, y), { model });
 * await writeFile("step.remat.jsonl.gz", writeTrace(trace, { gzip: true }));
 */
export async function record(step: () => unknown, options: RecordOptions = {}): Promise<Trace> {
  checkArgument(
    typeof step === "function",
    "record's step",
    step,
    "a function that takes one, such as () => model.trainOnBatch(x, y)",
  );
  checkCallOptions("record", options, {
    model: [isModel, "the model that the steps train"],
    name: [isText, "a text"],
  });
  const { model, name = model?.name } = options;
  const { steps, stepsBefore, allocationUnitBytes } = resolveStep({ stepsBefore: 1, ...options, size: "full" });
  const optimizers = new OptimizersSeen();
  await withDispatchMode(optimizers, () => repeat(step, stepsBefore));
  const recorder = new TraceRecorder({
    header: { allocationUnitBytes, ...(name !== undefined && { model: name }) },
  });
  const tracker = new ModTracker({ recorder });
  try {
    if (model !== undefined) tracker.track(model, { name: model.name.replaceAll(".", "_") });
    await tracker.run(() => {
      // All variables that exist when a step begins, including those of other models.
      for (const variable of registeredVariables())
        recorder.categorizeTensor(variable, variable.trainable ? Category.parameter : Category.buffer);
      for (const optimizer of optimizers.seen) tracker.trackOptimizer(optimizer);
      return repeat(step, steps);
    });
    return recordedHere(recorder.trace());
  } finally {
    tracker.close();
  }
}

/** Checks by fields, because the model may come from another copy of tfjs-layers. */
const isModel = (value: unknown): boolean => isRecord(value) && Array.isArray(value["layers"]) && isText(value["name"]);

/** Adds this machine's memory to the trace if the data is in main memory, so that readers can judge whether it fits. */
function recordedHere(trace: Trace): Trace {
  const { header } = trace;
  const deviceMemoryBytes = header.device === "cpu" ? machineMemoryBytes() : undefined;
  return deviceMemoryBytes === undefined ? trace : trace.withHeader({ ...header, deviceMemoryBytes });
}

/** Notes which optimizers update weights. */
class OptimizersSeen implements DispatchInterceptor {
  readonly seen = new Set<object>();

  optimizerUpdateComing(optimizer: object): void {
    this.seen.add(optimizer);
  }
}

async function repeat(step: () => unknown, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await step();
}
