import { type HeldStorage, peakMoment, type StorageMaker } from "@remat/memory";
import { type CategoryName, checkCallOptions, isWholeFrom, type Trace } from "@remat/trace";
import { type StepOptions, stepOptionChecks, type Trainable, traceOf } from "./trace-of.js";

export interface MemoryOfOptions extends StepOptions {
  /** How many of the largest storages to list; 10 if left out. */
  readonly limit?: number;
}

/** What a training step holds at its peak, in bytes. */
export interface StepMemory {
  readonly peakBytes: number;
  /** Weights, activations, gradients and so on; those that hold something. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** The op that runs then, and its layer. */
  readonly at: StorageMaker | undefined;
  /** What takes most then, largest first, and which op of which layer made it. */
  readonly largest: readonly HeldStorage[];
  /** The step itself, for `plan`, `writeTrace` and the small packages. */
  readonly trace: Trace;
}

/**
 * Tells what a training step holds at its peak, and who put it there. A model's step is predicted, to the byte: nothing is computed, no memory taken, and
 * the model stays as it is; a compiled one takes the step that `fit` takes for a batch. A function that takes one step runs twice, for real.
 *
 * @throws RematError `TFJS_COPIES`, `MODEL_EXPORT`, `MODEL_INPUT_SHAPE`, `MODEL_NOT_TRAINABLE`, `STEP_FUNCTION`, `ARGUMENT`; `DataDependentError` where a model reads values
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
