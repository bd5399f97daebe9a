import { currentBackend, withDispatchMode } from "@remat/dispatch-hook";
import { defaultBackend } from "@remat/dispatch-hook/backends";
import { checkArgument, isRecord, isText, isTrace, type OptionChecks, RematError, type Trace } from "@remat/trace";
import { decideCheckpointing, type ModelDefinition, resolveStep, type StepRequest, traceFakeStep } from "@remat/tracer";
import { LayersModel, version_layers } from "@tensorflow/tfjs-layers";
import { record } from "./record.js";

/** What can be asked about: a model; a function that takes one training step; a trace of one. */
export type Trainable = LayersModel | ModelDefinition | (() => unknown) | Trace;

export interface StepOptions {
  /** Of a model: samples in a batch; left out: 1. */
  readonly batch?: number;
  /** Of a model that is not compiled: what updates its weights; left out: `sgd`. */
  readonly optimizer?: string;
  /** Of a model that is not compiled: its loss; left out: what its outputs suggest. */
  readonly loss?: string;
}

/**
 * Returns a training step as a trace: of a model without data, in no time and memory, and with no change to it; of a function by taking two steps for real.
 *
 * @param how what becomes of blocks that are checkpointed by hand, and whose gradients run
 * @internal
 */
export async function traceOf(
  what: Trainable,
  { batch, optimizer, loss }: StepOptions,
  how: Pick<StepRequest, "checkpointing" | "fasterGradients">,
): Promise<Trace> {
  // Also of what is no model, of which they say nothing.
  resolveStep({ batch, optimizer, loss });
  if (isTrace(what)) return what;
  const isRight = typeof what === "function" || isRecord(what);
  checkArgument(
    isRight,
    "what is asked about",
    what,
    "a model, a function that takes one training step, or a trace of one",
  );
  checkCopy(what);
  if (typeof what !== "function")
    return traceFakeStep(what, {
      batch,
      optimizer,
      loss,
      ...how,
      backend: defaultBackend(currentBackend()).name,
    });
  const stopDeciding = decideCheckpointing(how);
  try {
    return await withDispatchMode({ fasterGradients: how.fasterGradients }, () => record(() => checkStep(what())));
  } finally {
    stopDeciding();
  }
}

/** What is expected of the options by which a step is described. @internal */
export const stepOptionChecks: OptionChecks = {
  optimizer: [isText, "the name of one, such as adam"],
  loss: [isText, "the name of one, such as meanSquaredError"],
};

/** Where there are two copies of tfjs-layers the layers of a model of the other one cannot be told apart, nor its optimizer's variables. */
function checkCopy(what: Exclude<Trainable, Trace>): void {
  const model: unknown = "model" in what ? what.model : what;
  const isOfAny = typeof model === "object" && model !== null && "trainOnBatch" in model && "getLayer" in model;
  if (!isOfAny || model instanceof LayersModel) return;
  throw new RematError(
    "TFJS_COPIES",
    `the model is made by another copy of tfjs-layers than the one that remat finds, ${version_layers}: expected one copy (npm ls @tensorflow/tfjs-layers shows where they are). Install @tensorflow/tfjs-core and @tensorflow/tfjs-layers in the version of @tensorflow/tfjs that the program has: npm install @tensorflow/tfjs-core@VERSION @tensorflow/tfjs-layers@VERSION.`,
  );
}

/** A function that makes a model is a likely mistake. */
function checkStep(made: unknown): unknown {
  if (typeof made !== "object" || made === null || !("layers" in made || "model" in made || "forward" in made))
    return made;
  throw new RematError(
    "STEP_FUNCTION",
    "the function returned a model: expected one that takes a training step, such as () => model.trainOnBatch(x, y). Give the model itself, or use traceFakeStep of @remat/tracer for one that is too large to be made.",
  );
}
