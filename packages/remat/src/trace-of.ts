import { currentBackend, withDispatchMode } from "@remat/dispatch-hook";
import { defaultBackend } from "@remat/dispatch-hook/backends";
import { checkArgument, isRecord, isText, isTrace, type OptionChecks, RematError, type Trace } from "@remat/trace";
import { decideCheckpointing, type ModelDefinition, resolveStep, type StepRequest, traceFakeStep } from "@remat/tracer";
import { LayersModel, version_layers } from "@tensorflow/tfjs-layers";
import { record } from "./record.js";

/** A training step to examine: a model, a function that takes one step, or a trace. */
export type Trainable = LayersModel | ModelDefinition | (() => unknown) | Trace;

/** Options that describe a training step. */
export interface StepOptions {
  /** Number of samples in a batch, for a model. Default: 1. */
  readonly batch?: number;
  /** Optimizer of a model that is not compiled. Default: `sgd`. */
  readonly optimizer?: string;
  /** Loss of a model that is not compiled. Default: one that suits its outputs. */
  readonly loss?: string;
}

/**
 * Returns a training step as a trace. A model is traced without data, time or memory, and does not change. A function
 * takes two real steps.
 *
 * @param how whether manually checkpointed blocks are recomputed, and which gradients are used
 *
 * @internal
 */
export async function traceOf(
  what: Trainable,
  { batch, optimizer, loss }: StepOptions,
  how: Pick<StepRequest, "checkpointing" | "fasterGradients">,
): Promise<Trace> {
  // Checks the options even if `what` is not a model and does not use them.
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

/** Checks of the options that describe a step. @internal */
export const stepOptionChecks: OptionChecks = {
  optimizer: [isText, "the name of one, such as adam"],
  loss: [isText, "the name of one, such as meanSquaredError"],
};

/**
 * If there are two copies of tfjs-layers, the layers and optimizer variables of the other copy's model cannot be
 * tracked.
 */
function checkCopy(what: Exclude<Trainable, Trace>): void {
  const model: unknown = "model" in what ? what.model : what;
  const isOfAny = typeof model === "object" && model !== null && "trainOnBatch" in model && "getLayer" in model;
  if (!isOfAny || model instanceof LayersModel) return;
  throw new RematError(
    "TFJS_COPIES",
    `the model uses another copy of tfjs-layers than remat (${version_layers}). Install your program's version: ` +
      "npm install @tensorflow/tfjs-core@VERSION @tensorflow/tfjs-layers@VERSION.",
  );
}

/** A function that makes a model is a likely mistake. */
function checkStep(made: unknown): unknown {
  if (typeof made !== "object" || made === null || !("layers" in made || "model" in made || "forward" in made))
    return made;
  throw new RematError(
    "STEP_FUNCTION",
    "the function returned a model, but must run a training step, such as () => model.trainOnBatch(x, y). " +
      "Pass the model itself; if it is too large to build, use traceFakeStep of @remat/tracer.",
  );
}
