import { RematError } from "@remat/trace";
import type { LayersModel, SymbolicTensor } from "@tensorflow/tfjs-layers";
import { sentenceStart } from "./check-options.js";
import type { JsonObject } from "./json.js";
import { classMap, type Derive, type Registration, withLayerClasses } from "./layer-classes.js";
import {
  isModelClass,
  type LayerEntry,
  type LayerNote,
  type LayerNotes,
  label,
  type Shape,
  showShapes,
} from "./layer-note.js";
import { suppliedActivations } from "./layers/activations.js";
import { readPenalty, withActivityPenalty } from "./layers/activity-penalty.js";
import { type InputIndices, spreadInputs } from "./layers/attention-inputs.js";
import { KerasOperation } from "./layers/keras-operation.js";
import type { Layer } from "./layers/layer-class.js";
import { withMasks } from "./layers/masks.js";

type Apply = Layer["apply"];

/** Methods of a layer that are replaced while the model is built. */
interface Watched {
  apply: Apply;
  addWeight(name: string, shape: Shape, ...rest: readonly unknown[]): { readonly shape: Shape };
}

/**
 * Builds the model with tfjs-layers and checks it. An error in a layer's constructor or call is rethrown as a
 * RematError that names the layer. If the file contains the shapes that Keras computed, tfjs-layers must compute the
 * same.
 */
export function buildModel(entry: LayerEntry, notes: LayerNotes, checksShapes: boolean): LayersModel {
  const watched: Layer[] = [];
  const observe = ([cls, fromConfig]: Registration): Registration => [
    cls,
    (_cls, config, customObjects, fast) => {
      const note = notes.get(config);
      const layer = naming(note, [], () => fromConfig(cls, config, customObjects, fast));
      if (note !== undefined && note.className !== "InputLayer") {
        watchCalls(layer, note, checksShapes, config["inputIndices"] as InputIndices);
        watchWeights(layer, note);
        watched.push(layer);
      }
      return layer;
    },
  ];
  try {
    const ofFile = Array.from(notes.values(), (note) => note.className);
    const classNames = new Set([...ofFile, KerasOperation.className, "L1L2", ...suppliedActivations]);
    return withLayerClasses(classNames, deriving(notes), observe, () => deserialize(entry));
  } catch (error) {
    disposeWeights(watched);
    throw error;
  } finally {
    for (const layer of watched as unknown[] as Partial<Watched>[]) {
      delete layer.apply;
      delete layer.addWeight;
    }
  }
}

/**
 * Chooses the classes to build with. A layer with an activity regularizer penalizes its outputs. If any layer of the
 * model makes masks, every layer passes them on.
 */
function deriving(notes: LayerNotes): Derive {
  const penalizing: Derive = (cls, config) => {
    const penalty = readPenalty(config["activityRegularizer"]);
    return penalty === undefined ? cls : withActivityPenalty(cls, penalty);
  };
  const hasMasks = Array.from(notes).some(
    ([config, { className }]) =>
      className === "Masking" || (className === "Embedding" && (config as JsonObject)["maskZero"] === true),
  );
  if (!hasMasks) return penalizing;
  return (cls, config) => withMasks(penalizing(cls, config), notes.get(config)?.isKeras3 ?? false);
}

function deserialize(entry: LayerEntry): LayersModel {
  const [cls, fromConfig] = classMap()[entry.className] as Registration;
  return fromConfig(cls, entry.config, {}, false) as LayersModel;
}

/** Disposes of the weights made so far if building the model fails. */
function disposeWeights(layers: readonly Layer[]): void {
  for (const weight of new Set(layers.flatMap((layer) => layer.weights))) weight.dispose();
}

function watchCalls(layer: Layer, note: LayerNote, checksShapes: boolean, indices: InputIndices): void {
  const apply = layer.apply.bind(layer) as Apply;
  let calls = 0;
  layer.apply = (inputs, options) => {
    const list = (Array.isArray(inputs) ? inputs : [inputs]) as SymbolicTensor[];
    const shapes = spreadInputs(list, indices).map((input) => input?.shape as Shape);
    const expected = note.inputShapes[calls];
    calls += 1;
    if (checksShapes && expected !== undefined && !agree(shapes, expected)) throw differingShapes(note, list, expected);
    return naming(note, shapes, () => apply(inputs, options));
  };
}

/**
 * tfjs-layers looks up initializers by name among all functions with a name. An activation in place of an initializer
 * returns another shape.
 */
function watchWeights(layer: Layer, note: LayerNote): void {
  const watched = layer as unknown as Watched;
  const addWeight = watched.addWeight.bind(layer);
  watched.addWeight = (name, shape, ...rest) => {
    const weight = addWeight(name, shape, ...rest);
    if (agree([weight.shape], [shape])) return weight;
    throw new RematError(
      "KERAS_LAYER_REFUSED",
      `${sentenceStart(label(note))} at ${note.path} initializes its weight '${name}' with shape ` +
        `${showShapes([weight.shape])}, expected ${showShapes([shape])}. ` +
        "Choose another initializer in Keras and export the model again.",
    );
  };
}

/**
 * Compares shapes. Recurrent layers take their initial state as additional inputs, which Keras' build shapes leave out.
 */
function agree(found: readonly Shape[], expected: readonly Shape[]): boolean {
  return expected.every((shape, i) => {
    const other = found[i];
    return (
      other !== undefined &&
      shape.length === other.length &&
      shape.every((size, axis) => size === null || other[axis] === null || size === other[axis])
    );
  });
}

function differingShapes(note: LayerNote, inputs: readonly SymbolicTensor[], expected: readonly Shape[]): RematError {
  const sources = inputs
    .map((input) => `'${input.sourceLayer.name}' (${input.sourceLayer.getClassName()})`)
    .join(" and ");
  return new RematError(
    "KERAS_SHAPE_DIFFERS",
    `Keras called ${label(note)} with ${showShapes(expected)}, but tfjs-layers computes ${showShapes(inputs.map((input) => input.shape))} ` +
      `from ${sources}. ` +
      "Replace that layer in Keras, or register a corrected class with tf.serialization.registerClass.",
  );
}

function naming<T>(note: LayerNote | undefined, shapes: readonly Shape[], run: () => T): T {
  try {
    return run();
  } catch (cause) {
    // A model fails because of one of its layers, which the error names already.
    if (cause instanceof RematError || note === undefined) throw cause;
    if (isStackFull(cause)) throw tooDeep(note, cause);
    const inputs = shapes.length === 0 ? "" : ` on ${showShapes(shapes)}`;
    const message = (cause as Error).message.split("\n")[0] as string;
    const reason =
      cause instanceof TypeError
        ? `its configuration cannot be read (${message})`
        : message.replace(/\.( This may be due to one of the following reasons:)?$/, "");
    throw new RematError(
      isModelClass(note.className) ? "KERAS_MODEL_REFUSED" : "KERAS_LAYER_REFUSED",
      `${sentenceStart(label(note))}${note.path === "" ? "" : ` at ${note.path}`} is not supported by tfjs-layers${inputs}: ${reason}. ` +
        "Change that layer in Keras and export the model again.",
      { cause },
    );
  }
}

/** tfjs-layers walks through a graph recursively, one level deeper for each layer in a row. */
const isStackFull = (cause: unknown): boolean => cause instanceof RangeError && /call stack/.test(cause.message);

function tooDeep(note: LayerNote, cause: unknown): RematError {
  return new RematError(
    "KERAS_TOO_DEEP",
    `${sentenceStart(label(note))}${note.path === "" ? "" : ` at ${note.path}`} is too deep for tfjs-layers, ` +
      `which recurses once per layer in a row (${(cause as Error).message}). ` +
      "Split it in Keras into models of at most 1,000 layers each and export it again.",
    { cause },
  );
}
