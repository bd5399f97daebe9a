import { defaultBackend } from "@remat/backends";
import { currentBackend } from "@remat/dispatch-hook";
import { RematError, type Trace } from "@remat/trace";
import { type ModelDefinition, traceFakeStep } from "@remat/tracer";
import type { LayersModel } from "@tensorflow/tfjs-layers";
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
 * @internal
 */
export async function traceOf(what: Trainable, options: StepOptions): Promise<Trace> {
  if (isTrace(what)) return what;
  if (typeof what !== "function")
    return traceFakeStep(what, { ...options, backend: defaultBackend(currentBackend()).name });
  return record(() => checkStep(what()));
}

/** By what it has, since it may come from another copy of the class. */
function isTrace(what: Trainable): what is Trace {
  return typeof what === "object" && "storages" in what && "events" in what;
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
