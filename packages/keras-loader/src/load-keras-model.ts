import type { LayersModel } from "@tensorflow/tfjs-layers";
import { buildModel } from "./build-model.js";
import { compileModel } from "./compilation/compile-model.js";
import type { JsonObject } from "./json.js";
import { type OwnLayerClass, withOwnClasses } from "./layer-classes.js";
import { type LayerNotes, label } from "./layer-note.js";
import { overrideInputShape } from "./override-input-shape.js";
import { readTopology } from "./read-topology.js";
import { provideTensorMethods } from "./tensor-methods.js";
import { understandTopology } from "./understand-model.js";
import { assignWeights } from "./weights/assign-weights.js";
import type { KerasWeights } from "./weights/stored-weights.js";
import { fileLayer } from "./weights/weighted-layer.js";

/** Options of {@link loadKerasModel}. */
export interface LoadKerasModelOptions {
  /** Name of the model. Default: the file's. */
  readonly name?: string;
  /**
   * Shape of the input without the batch, or shapes by name of the input layer for a model with several inputs.
   * Default: the file's. If you set it, the shapes of layers are not compared with those that Keras computed.
   */
  readonly inputShape?: readonly (number | null)[] | Readonly<Record<string, readonly (number | null)[]>>;
  /**
   * Your own layer classes, which correspond to classes of the file by `static className` and may replace others. Each
   * is constructed with the layer's configuration in camel case.
   */
  readonly layers?: readonly OwnLayerClass[];
  /** Values of the weights, read by `@remat/keras-loader/weights`. Default: the initializers' values. */
  readonly weights?: KerasWeights | undefined;
  /**
   * Receives sentences for the user: differences from Keras, and whether the loss and optimizer of the file are used,
   * left out or replaced.
   */
  readonly onNote?: (note: string) => void;
}

/**
 * Builds a tfjs-layers model from a Keras topology, with its real layers. If the file contains a training configuration
 * that TensorFlow.js supports, the model is compiled with it.
 *
 * The topology may come from Keras 2 or 3: a tfjs-layers `model.json` (with or without a weights manifest), the output
 * of Keras' `model.to_json()`, or the `config.json` of a `.keras` archive, as text or parsed. The bytes of any of these
 * or of the archive also work. Weights have their initial values, unless you pass `weights`. In fake mode they have no
 * data. The call is synchronous and leaves the class table of tfjs-layers as it was.
 *
 * This package supplies layers and options that tfjs-layers lacks or computes incorrectly, for example `Normalization`,
 * global pooling with `keepdims`, training a `BatchNormalization` without scale or centre, and names that Keras 3 has
 * changed. If the file contains the shapes that Keras computed, tfjs-layers must compute the same.
 *
 * @param source the topology
 * @throws RematError `KERAS_…`, naming the layer or the field, the reason and a next step
 * @example
 * const model = loadKerasModel(await readFile("resnet50.model.json", "utf8"));
 * model.countParams(); // 25636712
 */
export function loadKerasModel(source: string | Uint8Array | object, options: LoadKerasModelOptions = {}): LayersModel {
  return withOwnClasses(options.layers ?? [], () => load(source, options));
}

function load(source: string | Uint8Array | object, options: LoadKerasModelOptions): LayersModel {
  const topology = readTopology(source);
  const notes: LayerNotes = new Map();
  const entry = understandTopology(topology, options.name, notes);
  if (options.inputShape !== undefined) overrideInputShape(entry, options.inputShape);
  provideTensorMethods();
  // Copied before tfjs-layers takes it apart while building the model.
  const file = options.weights === undefined ? undefined : fileLayer(entry);
  const model = buildModel(entry, notes, options.inputShape === undefined);
  if (options.weights !== undefined && file !== undefined) assignWeights(model, file, options.weights);
  if (options.onNote !== undefined) for (const note of differences(notes)) options.onNote(note);
  const { compilation } = topology;
  if (compilation !== undefined) for (const note of compileModel(model, compilation)) options.onNote?.(note);
  return model;
}

/** Lists differences from Keras. */
function differences(notes: LayerNotes): readonly string[] {
  const all = Array.from(notes);
  const halved = all.flatMap(([, { otherFloat }]) => otherFloat ?? []);
  const penalized = all.filter(([config]) => (config as JsonObject)["activityRegularizer"] != null);
  return [
    ...(halved.length === 0
      ? []
      : [`${[...new Set(halved)].join(" and ")} of Keras are computed in float32, the only float dtype of tfjs`]),
    ...(penalized.length === 0
      ? []
      : [
          `activity penalties (${penalized.map(([, note]) => label(note)).join(", ")}) are in the gradients, but not in the reported loss`,
        ]),
  ];
}
