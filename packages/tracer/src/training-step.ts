import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import { type CompiledStep, compiledOptimizer, compiledStep } from "./compiled-model.js";
import {
  batchOf,
  defineModel,
  disposeDefinition,
  type ModelDefinition,
  type MoveFn,
  outputsOf,
  type ScopeFn,
  tfNamespace,
  trainableVariables,
} from "./model-definition.js";
import { noOptimizer, optimizerByName } from "./optimizers.js";
import { SeededRandom } from "./seeded-random.js";
import { resolveStep, type StepRequest, type StepSpec } from "./step-spec.js";
import { withLoss } from "./with-loss.js";

/** Receives results of a step before they are disposed of. */
export interface StepObserver {
  /** Receives the gradients by variable name, before the update. */
  gradients?(grads: Readonly<Record<string, tf.Tensor>>): void;
  /** Receives the loss. */
  loss?(value: tf.Scalar): void;
}

/** A model with its batch, loss and optimizer, ready to take steps. */
export interface TrainingStep {
  /** Name of the model. */
  readonly name: string;
  /** The request with all defaults filled in. */
  readonly spec: StepSpec;
  /** The model with its loss and targets. */
  readonly definition: ModelDefinition;
  /** Assumptions that were made, in sentences for the user. */
  readonly notes: readonly string[];
  /** Undefined if weights are not updated. */
  readonly optimizer: tf.Optimizer | undefined;
  /** Takes one step: forward pass, backward pass, and a weight update if there is an optimizer. */
  take(observer?: StepObserver): void;
  /** Replaces `take` for an asynchronous step: inference with `forwardAsync`. */
  readonly takeAsync?: () => Promise<void>;
  /** Disposes of the model, its batch and the optimizer's state. */
  dispose(): void;
}

/** Options of `prepareStep`. */
export interface PrepareStepOptions extends StepRequest {
  /** Name of the model, if it has none of its own. */
  readonly name?: string | undefined;
  /** Runs part of a plain function as a module. Default: only calls the function. */
  readonly scope?: ScopeFn | undefined;
  /** Receives the scopes of the following ops. Default: scopes are ignored. */
  readonly moveTo?: MoveFn | undefined;
}

/**
 * Builds the model of a model module (see `examples/README.md`) on the current backend, ready to take steps. Random
 * numbers come from the request's seed, so another process that prepares the same step computes the same values.
 *
 * A compiled model takes the step of `fit` for one batch, with a new optimizer of the same settings. If you request a
 * loss or an optimizer, it replaces the compiled one. `dispose` also disposes of a model that a factory function made.
 * A model or definition that you pass in stays as it is, except for weights that real steps update.
 *
 * @throws RematError `MODEL_EXPORT`, `MODEL_INPUT_SHAPE`, `MODEL_NOT_TRAINABLE`, `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`
 * @example
 * const step = await prepareStep(build, { batch: 8, optimizer: "adam" });
 * step.take({ loss: (value) => console.log(value.dataSync()[0]) });
 * step.dispose();
 */
export async function prepareStep(exported: unknown, options: PrepareStepOptions = {}): Promise<TrainingStep> {
  return prepareStepWith(new SeededRandom(resolveStep(options).seed), exported, options);
}

/** Prepares a step with the caller's random numbers. @internal */
export async function prepareStepWith(
  random: SeededRandom,
  exported: unknown,
  options: PrepareStepOptions,
): Promise<TrainingStep> {
  const { size, batch, loss: wanted, predict } = resolveStep(options);
  const { name = "model", scope = (_name, fn) => fn(), moveTo } = options;
  const made = await random.run(() => defineModel(exported, { tf: tfNamespace(), size, batch, scope, moveTo }, name));
  let definition = made;
  const giveBack = () => disposeDefinition(definition, typeof exported === "function" ? undefined : exported);
  try {
    const variables = trainableVariables(made);
    const { forwardAsync } = made;
    if (made.model === undefined && variables === undefined && !forwardAsync && (predict || made.loss !== undefined))
      random.run(() => makeWeights(made));
    if (predict) return predictionOf(made, options, random, giveBack);
    if (variables?.length === 0 || forwardAsync !== undefined) throw notTrainable();
    const compiled = compiledStep(made, options);
    const updating = compiled ?? compiledOptimizer(made, options);
    const spec = resolveStep({ ...options, ...(updating && { optimizer: updating.optimizerName }) });
    definition = random.run(() => (compiled === undefined ? withLoss(made, wanted) : asCompiled(made, compiled)));
    const optimizer =
      updating?.makeOptimizer() ?? (spec.optimizer === noOptimizer ? undefined : optimizerByName(spec.optimizer));
    const step =
      compiled === undefined || optimizer === undefined
        ? stepOf(definition, optimizer, variables)
        : observed(optimizer, () => compiled.take(definition, optimizer));
    return {
      name: definition.name ?? options.name ?? definition.model?.name ?? name,
      spec,
      definition,
      notes: notesOf(definition, updating === undefined ? options : spec),
      optimizer,
      take: (observer) => random.run(() => step(observer)),
      dispose() {
        optimizer?.dispose();
        giveBack();
      },
    };
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** Inference: a step is `predict` for one batch. */
function predictionOf(
  { targets: _, ...definition }: ModelDefinition,
  options: PrepareStepOptions,
  random: SeededRandom,
  dispose: () => void,
): TrainingStep {
  const { forwardAsync, inputs } = definition;
  const take = (): void => tf.dispose(predictBatch(definition));
  const takeAsync = async (): Promise<void> => tf.dispose((await forwardAsync!(inputs as never)) as tf.Tensor[]);
  return {
    name: definition.name ?? options.name ?? definition.model?.name ?? "model",
    spec: resolveStep(options),
    definition,
    notes: [definition.notes ?? []].flat(),
    optimizer: undefined,
    take: () => random.run(take),
    ...(forwardAsync && { takeAsync: () => random.run(takeAsync) }),
    dispose,
  };
}

function predictBatch(definition: ModelDefinition): tf.Tensor | tf.Tensor[] {
  const { model, inputs } = definition;
  if (model === undefined) return tf.tidy(() => outputsOf(definition, { training: false }));
  const [{ shape }] = batchOf({ inputs });
  return model.predict(inputs as tf.Tensor | tf.Tensor[], { batchSize: shape[0] });
}

/**
 * Calls the model once, because layers in a plain object create their weights on the first call. Choosing a default
 * loss would also do this, but inference and definitions with their own loss need no default.
 */
function makeWeights(definition: ModelDefinition): void {
  tf.tidy(() => void outputsOf(definition, { training: false }));
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
  return observed(optimizer, (isObserved) => optimizer.minimize(loss, isObserved, variables));
}

/** Passes the gradients and the loss of a step by `optimizer` to an observer. */
function observed(
  optimizer: tf.Optimizer,
  take: (isObserved: boolean) => tf.Scalar | null,
): (observer?: StepObserver) => void {
  return (observer) => {
    const stopShowing = observer?.gradients && showGradients(optimizer, (grads) => observer.gradients?.(grads));
    try {
      const value = take(observer !== undefined);
      if (value !== null) observer?.loss?.(value);
      value?.dispose();
    } finally {
      stopShowing?.();
    }
  };
}

/** Adds targets for the losses that the model is compiled with. */
function asCompiled(definition: ModelDefinition, { makeTargets, hasOwnOptimizer }: CompiledStep): ModelDefinition {
  const { targets, notes = [] } = definition;
  const [batch] = batchOf(definition)[0].shape;
  return {
    ...definition,
    targets: targets ?? makeTargets(batch),
    notes: [
      ...[notes].flat(),
      `the model is compiled: using its own losses${hasOwnOptimizer ? " and optimizer" : ""}${targets === undefined ? ", and random targets" : ""}`,
    ],
  };
}

/**
 * Passes on the gradients that `minimize` of this optimizer computes. Returns a function that ends it. `applyGradients`
 * is not wrapped: a wrapper could read gradients after the update. They would then be kept until its end, and the step
 * would differ from the planned one.
 */
function showGradients(optimizer: tf.Optimizer, show: (grads: Record<string, tf.Tensor>) => void): () => void {
  const own = Object.getOwnPropertyDescriptor(optimizer, "computeGradients");
  const compute = optimizer.computeGradients;
  optimizer.computeGradients = (...args) => {
    const computed = compute.apply(optimizer, args);
    show({ ...computed.grads });
    return computed;
  };
  return () => {
    if (own === undefined) Reflect.deleteProperty(optimizer, "computeGradients");
    else Object.defineProperty(optimizer, "computeGradients", own);
  };
}

function notesOf({ notes = [] }: ModelDefinition, { optimizer }: StepRequest): readonly string[] {
  return [
    ...[notes].flat(),
    ...(optimizer === undefined ? ["no optimizer given: using SGD with a learning rate of 0.01"] : []),
  ];
}

function notTrainable(): RematError {
  return new RematError(
    "MODEL_NOT_TRAINABLE",
    "the model has no trainable weights. Make a layer trainable, or return 'parameters'; to predict inference use --predict (predict in code).",
  );
}
