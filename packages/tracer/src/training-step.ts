import type { ModTracker } from "@remat/mod-tracker";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { describeLoss, type LossName, lossByName, lossNeedsTargets } from "./losses.js";
import { type ModelDefinition, trainableVariables } from "./model-definition.js";
import { optimizerByName } from "./optimizers.js";

export interface TrainingStepOptions {
  /** For a model that brings no loss; left out: the sum of its outputs. */
  readonly loss?: LossName | (string & {});
  /** Also update the weights, with this optimizer; left out: gradients only. */
  readonly optimizer?: string;
}

/** Is shown what a step computes, before it is disposed of. */
export interface StepObserver {
  /** By names of variables, before the update. */
  gradients?(grads: Readonly<Record<string, tf.Tensor>>): void;
  loss?(value: tf.Scalar): void;
}

/** A training step; `dispose` gives back what its optimizer holds. */
export interface TrainingStep {
  (observer?: StepObserver): void;
  dispose(): void;
}

/**
 * One forward and backward pass of `definition`, and an update of its weights if there is an optimizer, as a function.
 *
 * @throws RematError `MODEL_NOT_TRAINABLE`, `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`
 * @example
 * const step = trainingStep(definition, { optimizer: "sgd" });
 * step({ loss: (value) => console.log(value.dataSync()[0]) });
 */
export function trainingStep(
  definition: ModelDefinition,
  options: TrainingStepOptions,
  tracker?: Pick<ModTracker, "trackOptimizer">,
): TrainingStep {
  const variables = trainableVariables(definition);
  if (variables?.length === 0)
    throw new RematError(
      "MODEL_NOT_TRAINABLE",
      "the model has no trainable weight: expected at least one, since a training step is traced. Make a layer trainable, or return 'parameters'.",
    );
  const loss = lossOf(definition, options);
  const optimizer = options.optimizer === undefined ? undefined : optimizerByName(options.optimizer);
  if (optimizer === undefined) {
    const step = (observer?: StepObserver) => {
      const { value, grads } = tf.variableGrads(loss, variables);
      observer?.gradients?.(grads);
      observer?.loss?.(value);
      tf.dispose([value, grads]);
    };
    return Object.assign(step, { dispose() {} });
  }
  tracker?.trackOptimizer(optimizer);
  const step = (observer?: StepObserver) => {
    const stopShowing = observer?.gradients && showGradients(optimizer, (grads) => observer.gradients?.(grads));
    try {
      const value = optimizer.minimize(loss, observer !== undefined, variables);
      if (value !== null) observer?.loss?.(value);
      value?.dispose();
    } finally {
      stopShowing?.();
    }
  };
  return Object.assign(step, { dispose: () => optimizer.dispose() });
}

/** Shows what `minimize` hands to `applyGradients`, on this one optimizer; returns what ends it. */
function showGradients(optimizer: tf.Optimizer, show: (grads: Record<string, tf.Tensor>) => void): () => void {
  const own = Object.getOwnPropertyDescriptor(optimizer, "applyGradients");
  const apply = optimizer.applyGradients;
  optimizer.applyGradients = (grads) => {
    show(Array.isArray(grads) ? Object.fromEntries(grads.map(({ name, tensor }) => [name, tensor])) : { ...grads });
    apply.call(optimizer, grads);
  };
  return () => {
    if (own === undefined) Reflect.deleteProperty(optimizer, "applyGradients");
    else Object.defineProperty(optimizer, "applyGradients", own);
  };
}

/** Sentences about what was assumed, for people. */
export function notesOf(definition: ModelDefinition, options: TrainingStepOptions): readonly string[] {
  const own = definition.notes === undefined ? [] : [definition.notes].flat();
  if (definition.loss !== undefined) return own;
  const name = options.loss ?? "sum";
  return [...own, `the model brings no loss: ${describeLoss(name)}${options.loss === undefined ? " is taken" : ""}`];
}

/** Gives back what a definition holds. */
export function disposeDefinition({ model, parameters, buffers, inputs, targets }: ModelDefinition): void {
  // tfjs-layers refuses to dispose of a model whose nested models share a layer, and names its variables several times.
  if (model !== undefined) for (const weight of new Set(model.weights)) weight.dispose();
  tf.dispose([parameters ?? {}, buffers ?? {}, inputs, targets ?? []] as tf.TensorContainer);
}

function lossOf(definition: ModelDefinition, options: TrainingStepOptions): () => tf.Scalar {
  const { loss, targets } = definition;
  if (loss !== undefined) return () => loss(outputsOf(definition) as never, targets as never);
  const name = options.loss ?? "sum";
  const named = lossByName(name);
  return () => {
    const outputs = [outputsOf(definition)].flat();
    return named(outputs, lossNeedsTargets(name) ? targetsFor(outputs, targets) : []);
  };
}

function outputsOf({ model, forward, inputs }: ModelDefinition): tf.Tensor | tf.Tensor[] {
  if (model !== undefined)
    return model.apply(inputs as tf.Tensor | tf.Tensor[], { training: true }) as tf.Tensor | tf.Tensor[];
  return forward?.(inputs as never, { training: true }) as tf.Tensor | tf.Tensor[];
}

/** The definition's targets, or zeros of the outputs' shapes: what they hold matters to no shape. */
function targetsFor(outputs: readonly tf.Tensor[], targets: ModelDefinition["targets"]): readonly tf.Tensor[] {
  return targets === undefined ? outputs.map((output) => tf.zerosLike(output)) : ([targets].flat() as tf.Tensor[]);
}
