import { RematError } from "@remat/trace";
import * as tfCore from "@tensorflow/tfjs-core";
import * as tfLayers from "@tensorflow/tfjs-layers";
import { addChainedOps } from "./chained-ops.js";
import { embeddedInputs } from "./embedded-inputs.js";

/** The `tf` that model code receives: tfjs-core and tfjs-layers in one object, as `@tensorflow/tfjs` exports them. */
export type TfNamespace = typeof tfCore & typeof tfLayers;

/** Runs part of a plain function as a module with this name. Names nest by dots. */
export type ScopeFn = <T>(name: string, fn: () => T) => T;

/**
 * Sets the scopes of the following ops within the current scope, and the kind of the innermost scope. See `moveTo` of
 * `@remat/mod-tracker`.
 */
export type MoveFn = (path: readonly string[], kind?: string) => void;

type Tensors = tfCore.Tensor | readonly tfCore.Tensor[];

/** Argument of a model factory. */
export interface ModelContext {
  /** TensorFlow.js. */
  readonly tf: TfNamespace;
  /** `tiny` takes a real step on any backend within seconds. `full` is the real model. */
  readonly size: "tiny" | "full";
  /** Requested number of samples in a batch. Undefined: the model's own number. */
  readonly batch: number | undefined;
  /** Runs part of a function as a module. */
  readonly scope: ScopeFn;
  /** Sets the scopes of the following ops. Undefined if scopes are not recorded. */
  readonly moveTo?: MoveFn | undefined;
}

/** A model with everything a training step needs: either `model`, or `forward` with its parameters. */
export interface ModelDefinition {
  /** Name of the model. */
  readonly name?: string;
  /** A tfjs-layers model. */
  readonly model?: tfLayers.LayersModel;
  /** A plain function, instead of `model`. */
  readonly forward?: (inputs: never, options: { readonly training: boolean }) => Tensors;
  /** Replaces `forward` for a model that is only used for inference and is asynchronous. */
  readonly forwardAsync?: (inputs: never) => Promise<Tensors>;
  /** Trainable variables of `forward`, by names that begin with the variable's scope. */
  readonly parameters?: Readonly<Record<string, tfCore.Variable>>;
  /** Tensors of `forward` that are kept between steps and not trained, by name. */
  readonly buffers?: Readonly<Record<string, tfCore.Tensor>>;
  /** One batch: a tensor, or a list of tensors. */
  readonly inputs: Tensors;
  /** Targets of the outputs, if the loss needs them. */
  readonly targets?: Tensors;
  /** Computes a scalar from outputs and targets. Default: a loss that suits the outputs, see `StepRequest`. */
  readonly loss?: (outputs: never, targets: never) => tfCore.Scalar;
  /** One or several sentences for the user. */
  readonly notes?: string | readonly string[];
}

/** Returns the tensors of the batch, targets included. */
export function batchOf({ inputs, targets = [] }: Pick<ModelDefinition, "inputs" | "targets">): tfCore.Tensor[] {
  return [inputs, targets].flat() as tfCore.Tensor[];
}

/** Default export of a model module. */
export type ModelFactory = (context: ModelContext) => ModelDefinition | Promise<ModelDefinition>;

/**
 * Returns `tf` for model code, made of the two packages that this one imports. Tensors have the methods of
 * `@tensorflow/tfjs`.
 */
export function tfNamespace(): TfNamespace {
  addChainedOps();
  both ??= { ...tfCore, ...tfLayers };
  return { ...both } as TfNamespace;
}

/** Cached, because reading all exports takes some milliseconds. */
let both: object | undefined;

/**
 * Checks the export of a model module (a factory, a definition, or a LayersModel) and calls a factory. Adds a note if
 * the model comes from another copy of tfjs-layers, whose layers cannot be tracked.
 *
 * @throws RematError `MODEL_EXPORT` naming the field that is missing or wrong
 */
export async function defineModel(exported: unknown, context: ModelContext, name: string): Promise<ModelDefinition> {
  const made: unknown = typeof exported === "function" ? await (exported as ModelFactory)(context) : exported;
  const definition = checkedDefinition(made, context, name);
  if (definition.model === undefined || definition.model instanceof tfLayers.LayersModel) return definition;
  return { ...definition, notes: [...[definition.notes ?? []].flat(), ofAnotherCopy] };
}

const ofAnotherCopy =
  "the model uses another copy of tfjs-layers than remat, so its layers and parameters are unknown. " +
  "Build it from the tf that remat passes in: export default ({ tf }) => tf.sequential(…).";

function checkedDefinition(made: unknown, context: ModelContext, name: string): ModelDefinition {
  if (isLayersModel(made)) return definitionOfLayersModel(made, context);
  if (typeof made !== "object" || made === null)
    throw wrong(
      name,
      `expected its default export to be a function that returns a model, or a LayersModel, found ${describe(made)}`,
    );
  const definition = made as Partial<Record<keyof ModelDefinition, unknown>>;
  if ((definition.model ?? definition.forward ?? definition.forwardAsync) === undefined)
    throw wrong(name, "expected a field 'model' or 'forward', found neither");
  if (definition.model !== undefined && !isLayersModel(definition.model))
    throw wrong(name, `field 'model': expected a tf.LayersModel, found ${describe(definition.model)}`);
  const forward = definition.forward ?? definition.forwardAsync;
  if (definition.model === undefined && typeof forward !== "function")
    throw wrong(name, `field 'forward': expected a function, found ${describe(forward)}`);
  if (definition.loss !== undefined && typeof definition.loss !== "function")
    throw wrong(name, `field 'loss': expected a function of outputs and targets, found ${describe(definition.loss)}`);
  if (definition.inputs === undefined && definition.model !== undefined)
    return withInputs(ownFields(definition as ModelDefinition), definition.model as tfLayers.LayersModel, context);
  for (const field of ["inputs", "targets"] as const) checkTensors(name, field, definition[field], field === "inputs");
  if (definition.parameters !== undefined)
    for (const [key, variable] of Object.entries(definition.parameters as object))
      if (!(variable instanceof tfCore.Variable))
        throw wrong(name, `field 'parameters', entry '${key}': expected a tf.variable, found ${describe(variable)}`);
  return ownFields(definition as ModelDefinition);
}

/** Copies the fields of a definition. One made by a class has accessors and methods that read `this`. */
function ownFields(definition: ModelDefinition): ModelDefinition {
  const { name, model, forward, parameters, buffers, inputs, targets, loss, notes } = definition;
  return {
    ...definition,
    inputs,
    ...(name !== undefined && { name }),
    ...(model !== undefined && { model }),
    ...(forward !== undefined && { forward: forward.bind(definition) }),
    ...(parameters !== undefined && { parameters }),
    ...(buffers !== undefined && { buffers }),
    ...(targets !== undefined && { targets }),
    ...(loss !== undefined && { loss: loss.bind(definition) }),
    ...(notes !== undefined && { notes }),
  };
}

/** Returns a LayersModel as a definition, with random inputs of the shapes it expects. */
function definitionOfLayersModel(model: tfLayers.LayersModel, context: ModelContext): ModelDefinition {
  return withInputs({ name: model.name, model }, model, context);
}

/** Returns the outputs of a definition's model for its batch. */
export function outputsOf(
  { model, forward, inputs }: ModelDefinition,
  options: { readonly training: boolean },
): tfCore.Tensor | tfCore.Tensor[] {
  if (model !== undefined)
    return model.apply(inputs as tfCore.Tensor | tfCore.Tensor[], options) as tfCore.Tensor | tfCore.Tensor[];
  return forward?.(inputs as never, options) as tfCore.Tensor | tfCore.Tensor[];
}

/** Disposes of a definition's tensors. Tensors of a model or definition that the caller passed in stay. */
export function disposeDefinition(
  { model, parameters, buffers, inputs, targets }: ModelDefinition,
  given?: unknown,
): void {
  if (given !== undefined) {
    const own = new Set(isLayersModel(given) ? [] : batchOf(given as ModelDefinition));
    tfCore.dispose(batchOf({ inputs, ...(targets !== undefined && { targets }) }).filter((tensor) => !own.has(tensor)));
    return;
  }
  // tfjs-layers fails to dispose of a model whose nested models share a layer, and lists shared variables several
  // times.
  if (model !== undefined) for (const weight of new Set(model.weights)) weight.dispose();
  tfCore.dispose([parameters ?? {}, buffers ?? {}, inputs, targets ?? []] as tfCore.TensorContainer);
}

/** Returns the trainable variables of a definition, to take gradients of. */
export function trainableVariables({ model, parameters }: ModelDefinition): tfCore.Variable[] | undefined {
  // tfjs-layers keeps its variables in a field that its types hide.
  if (model !== undefined)
    return model.trainableWeights.map((weight) => (weight as unknown as { val: tfCore.Variable }).val);
  return parameters === undefined ? undefined : Object.values(parameters);
}

/** Height and width of images if a model accepts any. It is the default training size of `keras.applications`. */
const imageSize = 224;

/** Steps of a sequence if a model accepts any number: words of a short text. */
const sequenceSteps = 128;
/** Steps of a sequence of video frames, which are larger. */
const videoFrames = 16;

function withInputs(
  definition: Omit<ModelDefinition, "inputs">,
  model: tfLayers.LayersModel,
  { batch = 1 }: ModelContext,
): ModelDefinition {
  const assumed: string[] = [];
  const rows = embeddedInputs(model);
  const inputs = model.inputs.map((input, i) => {
    const { shape, what } = sizesOfInput(input, batch);
    if (what !== undefined) assumed.push(`input ${input.name} takes ${what(showShape(input.shape))} were assumed`);
    if (shape === undefined)
      throw new RematError(
        "MODEL_INPUT_SHAPE",
        `model ${model.name}: input ${input.name} has the shape ${showShape(input.shape)}: only the batch size may be unknown. ` +
          "Give the input a fixed shape, or write an ES module: ({ tf, batch = 1 }) => ({ model, inputs: tf.zeros([batch, …]) }).",
      );
    if (input.dtype !== "float32") return tfCore.zeros(shape, input.dtype);
    const count = rows[i];
    return count === undefined
      ? tfCore.randomNormal(shape)
      : tfCore.tidy(() => tfCore.cast(tfCore.randomUniformInt(shape, 0, count), "float32"));
  });
  if (assumed.length === 0) return { ...definition, inputs };
  return { ...definition, inputs, notes: [...[definition.notes ?? []].flat(), ...assumed] };
}

/** The shape of a batch, and a description of the sizes assumed for inputs of any size. */
interface AssumedSizes {
  /** Undefined if an unknown size cannot be assumed. */
  readonly shape: number[] | undefined;
  readonly what?: (shown: string) => string;
}

/** Assumes the height and width of images with one, three or four channels, and the steps of sequences. */
function sizesOfInput({ shape }: tfLayers.SymbolicTensor, batch: number): AssumedSizes {
  const [samples, ...sizes] = shape;
  const all = (known: readonly (number | null)[]): number[] => [samples ?? batch, ...(known as number[])];
  if (!sizes.includes(null)) return { shape: all(sizes) };
  const channels = sizes.at(-1) as number | null | undefined;
  if (sizes.length === 3 && [1, 3, 4].includes(channels ?? 0))
    return {
      shape: all(sizes.map((size) => size ?? imageSize)),
      what: (shown) => `images of any size ${shown}: ${imageSize} x ${imageSize}`,
    };
  const [, ...inner] = sizes;
  if (inner.includes(null)) return { shape: undefined };
  const steps = inner.length < 2 ? sequenceSteps : videoFrames;
  return { shape: all([steps, ...inner]), what: (shown) => `sequences of any length ${shown}: ${steps} steps` };
}

const showShape = (shape: readonly (number | null)[]): string => `[${shape.map((size) => size ?? "any").join(", ")}]`;

/** Checks by fields, because the model may come from another copy of tfjs-layers. */
function isLayersModel(value: unknown): value is tfLayers.LayersModel {
  return (
    typeof value === "object" &&
    value !== null &&
    "layers" in value &&
    "apply" in value &&
    "inputs" in value &&
    Array.isArray(value.layers)
  );
}

function checkTensors(name: string, field: string, value: unknown, required: boolean): void {
  if (value === undefined && !required) return;
  const list: unknown[] = Array.isArray(value) ? value : [value];
  list.forEach((tensor, i) => {
    if (!(tensor instanceof tfCore.Tensor))
      throw wrong(
        name,
        `field '${field}'${Array.isArray(value) ? `, item ${i}` : ""}: expected a tensor, found ${describe(tensor)}`,
      );
  });
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return `an object of ${value.constructor?.name ?? "no class"}`;
  return typeof value === "string"
    ? JSON.stringify(value.slice(0, 40))
    : typeof value === "function"
      ? "a function"
      : String(value);
}

function wrong(name: string, detail: string): RematError {
  return new RematError("MODEL_EXPORT", `${name}: ${detail}. See examples/README.md for what a model module exports.`);
}
