import * as tf from "@tensorflow/tfjs-core";
import type { LayersModel } from "@tensorflow/tfjs-layers";
import { batchOf, type ModelDefinition } from "./model-definition.js";
import { noOptimizer, type OptimizerName, optimizerByName } from "./optimizers.js";
import { randomTarget } from "./random-target.js";
import type { StepRequest } from "./step-spec.js";

/** What `compile` leaves in a model, which tfjs-layers hides from its types. */
interface Compiled {
  /** Undefined until `compile` is called. */
  optimizer_?: tf.Optimizer;
  /** As it was given: by name or as a function; for all outputs, or a list or record of them. */
  readonly loss?: unknown;
  readonly outputNames: readonly string[];
  readonly outputs: readonly { readonly shape: readonly (number | null)[] }[];
  makeTrainFunction(): (data: tf.Tensor[]) => tf.Scalar[];
}

/** tfjs's own names of its optimizers. */
const namesByClass: Readonly<Record<string, OptimizerName>> = {
  SGD: "sgd",
  Momentum: "momentum",
  Adam: "adam",
  Adamax: "adamax",
  RMSProp: "rmsprop",
  Adagrad: "adagrad",
  Adadelta: "adadelta",
};

/** An optimizer by tfjs's name. */
export interface CompiledOptimizer {
  readonly optimizerName: string;
  /** Makes an optimizer, with the compiled one's settings where that is meant; the compiled one's state is left alone. */
  makeOptimizer(): tf.Optimizer;
}

/** A compiled model's own way to take a step: what `fit` does for a batch, with losses, metrics and penalties as compiled. */
export interface CompiledStep extends CompiledOptimizer {
  /** Whether the optimizer is the compiled one, too. */
  readonly hasOwnOptimizer: boolean;
  /** Makes one target for each output, of the shape that its loss wants. */
  makeTargets(batch: number): tf.Tensor[];
  /** Takes a step with `optimizer` and returns its loss. */
  take(definition: ModelDefinition, optimizer: tf.Optimizer): tf.Scalar;
}

/**
 * Returns the optimizer that a model is compiled with; undefined for a model that is not compiled, whose optimizer is none of tfjs's own, or where another
 * is asked for.
 */
export function compiledOptimizer(
  { model }: ModelDefinition,
  { optimizer }: StepRequest,
): CompiledOptimizer | undefined {
  const own = model === undefined ? undefined : functionalModel(model).optimizer_;
  const optimizerName = own === undefined ? undefined : namesByClass[own.getClassName()];
  if (own === undefined || optimizerName === undefined) return undefined;
  if (optimizer !== undefined && optimizer !== optimizerName) return undefined;
  return { optimizerName, makeOptimizer: () => sameOptimizer(own) };
}

/**
 * Returns how a compiled model takes a step, by its own optimizer or the one that is asked for; undefined for a model that is not compiled, whose optimizer
 * is none of tfjs's own, or whose step is to be taken otherwise: by a loss of the definition's, a loss that is asked for, or without an update.
 */
export function compiledStep(definition: ModelDefinition, request: StepRequest): CompiledStep | undefined {
  const { model, loss } = definition;
  const { loss: wantedLoss, optimizer: wanted } = request;
  if (model === undefined || loss !== undefined || wantedLoss !== undefined || wanted === noOptimizer) return undefined;
  const compiled = functionalModel(model);
  if (compiled.optimizer_ === undefined) return undefined;
  const own = compiledOptimizer(definition, request);
  if (own === undefined && wanted === undefined) return undefined;
  return {
    ...(own ?? { optimizerName: wanted as string, makeOptimizer: () => optimizerByName(wanted as string) }),
    hasOwnOptimizer: own !== undefined,
    makeTargets(batch) {
      const losses = lossNamesOf(compiled);
      return compiled.outputs.map(({ shape }, i) => randomTarget(sizesOf(shape, batch), losses[i]));
    },
    take(definition, optimizer) {
      const before = compiled.optimizer_;
      compiled.optimizer_ = optimizer;
      try {
        const [value, ...metrics] = compiled.makeTrainFunction()(batchOf(definition));
        tf.dispose(metrics);
        return value;
      } finally {
        compiled.optimizer_ = before as tf.Optimizer;
      }
    },
  };
}

/** A Sequential hands all that it is asked to a functional model inside it, which is there once it is compiled. */
function functionalModel(model: LayersModel): Compiled {
  const { model: inner } = model as unknown as { readonly model?: Compiled | null };
  return inner ?? (model as unknown as Compiled);
}

function sameOptimizer(optimizer: tf.Optimizer): tf.Optimizer {
  const constructor = optimizer.constructor as tf.serialization.SerializableConstructor<tf.Optimizer>;
  return (constructor as unknown as typeof tf.Optimizer).fromConfig(constructor, optimizer.getConfig());
}

/** Of sizes that depend on the data one stands for all. */
function sizesOf(shape: readonly (number | null)[], batch: number): number[] {
  return shape.map((size, axis) => size ?? (axis === 0 ? batch : 1));
}

/** Of the outputs, in their order, a function's by its own name; undefined for one that has none. */
function lossNamesOf({ loss, outputNames }: Compiled): readonly (string | undefined)[] {
  const named = (one: unknown) => (typeof one === "string" ? one : typeof one === "function" ? one.name : undefined);
  return outputNames.map((name, i) => {
    if (typeof loss !== "object" || loss === null) return named(loss);
    return named(Array.isArray(loss) ? loss[i] : (loss as Readonly<Record<string, unknown>>)[name]);
  });
}
