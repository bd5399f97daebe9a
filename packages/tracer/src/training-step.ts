import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import {
  defineModel,
  disposeDefinition,
  type ModelDefinition,
  outputsOf,
  type ScopeFn,
  tfNamespace,
  trainableVariables,
} from "./model-definition.js";
import { noOptimizer, optimizerByName } from "./optimizers.js";
import { SeededRandom } from "./seeded-random.js";
import { resolveStep, type StepRequest, type StepSpec } from "./step-spec.js";
import { withLoss } from "./with-loss.js";

/** Is shown what a step computes, before it is disposed of. */
export interface StepObserver {
  /** By names of variables, before the update. */
  gradients?(grads: Readonly<Record<string, tf.Tensor>>): void;
  loss?(value: tf.Scalar): void;
}

/** A model with its batch, loss and optimizer: all that steps of it need. */
export interface TrainingStep {
  readonly name: string;
  readonly spec: StepSpec;
  /** With its loss, and targets for it. */
  readonly definition: ModelDefinition;
  /** What was assumed, in sentences for people. */
  readonly notes: readonly string[];
  /** Undefined where weights are not updated. */
  readonly optimizer: tf.Optimizer | undefined;
  /** Takes one step: a forward and a backward pass, and an update of the weights if there is an optimizer. */
  take(observer?: StepObserver): void;
  /** Gives back the model, its batch and what the optimizer holds. */
  dispose(): void;
}

export interface PrepareStepOptions extends StepRequest {
  /** The model's name, where it has none of its own. */
  readonly name?: string | undefined;
  /** Runs a part of a plain function as the module of that name; left out: only runs it. */
  readonly scope?: ScopeFn | undefined;
}

/**
 * Builds what a model module exports (see `examples/README.md`) on the current backend, so that steps of it can be taken. Random numbers come
 * from the request's seed, so that another process that prepares the same step computes the same.
 *
 * @throws RematError `MODEL_EXPORT`, `MODEL_INPUT_SHAPE`, `MODEL_NOT_TRAINABLE`, `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`
 * @example
 * const step = await prepareStep(build, { batch: 8, optimizer: "adam" });
 * step.take({ loss: (value) => console.log(value.dataSync()[0]) });
 * step.dispose();
 */
export async function prepareStep(exported: unknown, options: PrepareStepOptions = {}): Promise<TrainingStep> {
  const spec = resolveStep(options);
  const { size, batch, loss: wanted, seed } = spec;
  const { name = "model", scope = (_name, fn) => fn() } = options;
  const random = new SeededRandom(seed);
  const made = await random.run(() => defineModel(exported, { tf: tfNamespace(), size, batch, scope }, name));
  let definition = made;
  try {
    const variables = trainableVariables(made);
    if (variables?.length === 0) throw notTrainable();
    definition = random.run(() => withLoss(made, wanted));
    const optimizer = spec.optimizer === noOptimizer ? undefined : optimizerByName(spec.optimizer);
    const step = stepOf(definition, optimizer, variables);
    return {
      name: definition.name ?? options.name ?? definition.model?.name ?? name,
      spec,
      definition,
      notes: notesOf(definition, options),
      optimizer,
      take: (observer) => random.run(() => step(observer)),
      dispose() {
        optimizer?.dispose();
        disposeDefinition(definition);
      },
    };
  } catch (error) {
    disposeDefinition(definition);
    throw error;
  }
}

function stepOf(
  definition: ModelDefinition,
  optimizer: tf.Optimizer | undefined,
  variables: tf.Variable[] | undefined,
): (observer?: StepObserver) => void {
  const loss = () => definition.loss!(outputsOf(definition, { training: true }) as never, definition.targets as never);
  if (optimizer === undefined)
    return (observer) => {
      const { value, grads } = tf.variableGrads(loss, variables);
      observer?.gradients?.(grads);
      observer?.loss?.(value);
      tf.dispose([value, grads]);
    };
  return (observer) => {
    const stopShowing = observer?.gradients && showGradients(optimizer, (grads) => observer.gradients?.(grads));
    try {
      const value = optimizer.minimize(loss, observer !== undefined, variables);
      if (value !== null) observer?.loss?.(value);
      value?.dispose();
    } finally {
      stopShowing?.();
    }
  };
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

function notesOf({ notes = [] }: ModelDefinition, { optimizer }: StepRequest): readonly string[] {
  return [
    ...[notes].flat(),
    ...(optimizer === undefined ? ["nothing says how to update the weights: SGD with 0.01 does"] : []),
  ];
}

function notTrainable(): RematError {
  return new RematError(
    "MODEL_NOT_TRAINABLE",
    "the model has no trainable weight: expected at least one, since a training step is taken. Make a layer trainable, or return 'parameters'.",
  );
}
