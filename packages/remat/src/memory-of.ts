import { type HeldStorage, peakMoment, type StorageMaker } from "@remat/memory";
import { type CategoryName, checkCallOptions, isWholeFrom, type Trace } from "@remat/trace";
import { type StepOptions, stepOptionChecks, type Trainable, traceOf } from "./trace-of.js";

/** Options of `memoryOf`. */
export interface MemoryOfOptions extends StepOptions {
  /** Number of largest storages to list. Default: 10. */
  readonly limit?: number;
}

/** Peak memory of a training step, in bytes. */
export interface StepMemory {
  /** Peak memory in bytes. */
  readonly peakBytes: number;
  /** Bytes of the peak by category, such as weights, activations and gradients. Empty categories are left out. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** The op that runs at the peak, and its layer. */
  readonly at: StorageMaker | undefined;
  /** The largest storages at the peak, largest first, with the op and the layer that made them. */
  readonly largest: readonly HeldStorage[];
  /** The trace of the step, for `plan`, `writeTrace` and other packages. */
  readonly trace: Trace;
}

/**
 * Returns the peak memory of a training step, and the code that allocates it.
 *
 * The step of a model is predicted exactly, without computing anything or allocating memory, and the model does not
 * change. For a compiled model, the step is the one that `fit` takes for a batch. A function that takes one step is
 * called twice, and these are real steps.
 *
 * @param what a model, a function that takes one training step, or a trace
 * @throws RematError `TFJS_COPIES`, `MODEL_EXPORT`, `MODEL_INPUT_SHAPE`, `MODEL_NOT_TRAINABLE`, `STEP_FUNCTION`,
 * `ARGUMENT`
 * @throws DataDependentError if a model reads values
 * @example
 * const { peakBytes, bytesByCategory, largest } = await memoryOf(model, { batch: 32 });
 */
export async function memoryOf(what: Trainable, options: MemoryOfOptions = {}): Promise<StepMemory> {
  checkCallOptions("memoryOf", options, { ...stepOptionChecks, limit: [isWholeFrom(0), "a whole number from 0 up"] });
  const { limit = 10, ...step } = options;
  const trace = await traceOf(what, step, { checkpointing: "given" });
  const { totalBytes, bytesByCategory, at, largest } = peakMoment(trace, { limit });
  return { peakBytes: totalBytes, bytesByCategory, at, largest, trace };
}
