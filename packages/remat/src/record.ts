import type { DispatchInterceptor } from "@remat/dispatch-hook";
import { registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { machineMemoryBytes } from "@remat/dispatch-hook/backends";
import { ModTracker } from "@remat/mod-tracker";
import { Category, checkArgument, checkCallOptions, isRecord, isText, type Trace } from "@remat/trace";
import { resolveStep, TraceRecorder } from "@remat/tracer";
import type { LayersModel } from "@tensorflow/tfjs-layers";

export interface RecordOptions {
  /** The model that the steps train: its ops are then told by layer. */
  readonly model?: LayersModel;
  /** The trace's name for the model; left out: the model's own. */
  readonly name?: string;
  /** How many steps to record; 1 if left out. */
  readonly steps?: number;
  /** How many to take before, so that what an optimizer keeps is there from the start; 1 if left out. */
  readonly stepsBefore?: number;
}

/**
 * Takes training steps for real, one after the other, and records what they run and hold: a trace for `memoryOf`, `plan`, `writeTrace`, and for
 * `remat ui` and `remat report` of its file. `step` is any function that takes one step, asynchronous or not.
 *
 * @throws RematError `ARGUMENT`, `STEP_REQUEST` for a number of steps that is none; what `step` throws
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
      // All that is there when a step begins, be it of other models.
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

/** By what it has: a model of another copy of tfjs-layers is one, too. */
const isModel = (value: unknown): boolean => isRecord(value) && Array.isArray(value["layers"]) && isText(value["name"]);

/** The trace with the memory that there is here, by which whoever reads it judges it, where its data is in that. */
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
