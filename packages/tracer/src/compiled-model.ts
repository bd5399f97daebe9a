import * as tf from "@tensorflow/tfjs-core";
import type { LayersModel } from "@tensorflow/tfjs-layers";
import { batchOf, type ModelDefinition } from "./model-definition.js";
import { noOptimizer, type OptimizerName, optimizerByName } from "./optimizers.js";
import { randomTarget } from "./random-target.js";
import type { StepRequest } from "./step-spec.js";

/** Fields that `compile` adds to a model, which the types of tfjs-layers hide. */
interface Compiled {
  /** Undefined until `compile` is called. */
  optimizer_?: tf.Optimizer;
  /** As passed to `compile`: by name or as a function, for all outputs, or a list or record of them. */
  readonly loss?: unknown;
  readonly outputNames: readonly string[];
  readonly outputs: readonly { readonly shape: readonly (number | null)[] }[];
  makeTrainFunction(): (data: tf.Tensor[]) => tf.Scalar[];
}

/** TensorFlow.js names of its optimizer classes. */
const namesByClass: Readonly<Record<string, OptimizerName>> = {
  SGD: "sgd",
  Momentum: "momentum",
  Adam: "adam",
  Adamax: "adamax",
  RMSProp: "rmsprop",
  Adagrad: "adagrad",
  Adadelta: "adadelta",
};

/** An optimizer with its TensorFlow.js name. */
export interface CompiledOptimizer {
  /** Its TensorFlow.js name, such as `adam`. */
  readonly optimizerName: string;
  /**
   * Makes a new optimizer: one with the settings of the compiled optimizer or, if another was requested, that one. The
   * compiled optimizer's state is not touched.
   */
  makeOptimizer(): tf.Optimizer;
}

/**
 * A compiled model's training step: the same as `fit` for one batch, with the compiled losses, metrics and penalties.
 */
export interface CompiledStep extends CompiledOptimizer {
  /** True if the step uses the settings of the compiled optimizer. */
  readonly hasOwnOptimizer: boolean;
  /** Makes one target for each output, of the shape that its loss expects. */
  makeTargets(batch: number): tf.Tensor[];
  /** Takes a step with `optimizer` and returns its loss. */
  take(definition: ModelDefinition, optimizer: tf.Optimizer): tf.Scalar;
}

/**
 * Returns the optimizer that a model is compiled with. Undefined if the model is not compiled, if its optimizer is not
 * one of TensorFlow.js, or if another optimizer is requested.
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
 * Returns the step of a compiled model, with its own optimizer or the requested one. Undefined if the model is not
 * compiled, if its optimizer is not one of TensorFlow.js, or if the step is not that of `fit`: the definition has its
 * own loss, a loss is requested, or weights are not updated.
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

/** A compiled Sequential passes every call on to an inner functional model. */
function functionalModel(model: LayersModel): Compiled {
  const { model: inner } = model as unknown as { readonly model?: Compiled | null };
  return inner ?? (model as unknown as Compiled);
}

function sameOptimizer(optimizer: tf.Optimizer): tf.Optimizer {
  const constructor = optimizer.constructor as tf.serialization.SerializableConstructor<tf.Optimizer>;
  return (constructor as unknown as typeof tf.Optimizer).fromConfig(constructor, optimizer.getConfig());
}

/** A size of 1 stands for sizes that depend on the data. */
function sizesOf(shape: readonly (number | null)[], batch: number): number[] {
  return shape.map((size, axis) => size ?? (axis === 0 ? batch : 1));
}

/** Loss names in the order of the outputs. A function has its own name. Undefined for an output without a loss. */
function lossNamesOf({ loss, outputNames }: Compiled): readonly (string | undefined)[] {
  const named = (one: unknown) => (typeof one === "string" ? one : typeof one === "function" ? one.name : undefined);
  return outputNames.map((name, i) => {
    if (typeof loss !== "object" || loss === null) return named(loss);
    return named(Array.isArray(loss) ? loss[i] : (loss as Readonly<Record<string, unknown>>)[name]);
  });
}
