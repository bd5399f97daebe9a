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
  /** A name for the model in place of the file's. */
  readonly name?: string;
  /**
   * The shape of the input without the batch, in place of the file's; for a model of several inputs, shapes by the names of its input
   * layers. The shapes that Keras computed are then not compared.
   */
  readonly inputShape?: readonly (number | null)[] | Readonly<Record<string, readonly (number | null)[]>>;
  /**
   * Classes of layers of your own, by their `static className` the classes of the file; also in place of others. Each is made with the layer's
   * configuration, its fields in camel case.
   */
  readonly layers?: readonly OwnLayerClass[];
  /** Values of the weights, which `@remat/keras-loader/weights` reads; left out, they are what their initializers give. */
  readonly weights?: KerasWeights | undefined;
  /** Is told, in sentences for people, what is computed otherwise than in Keras, which loss and optimizer the file names, and what of these is left out or stood for. */
  readonly onNote?: (note: string) => void;
}

/**
 * Makes a tfjs-layers model, with its real layers, of a Keras topology.
 *
 * A model whose file says how it is compiled is compiled so, where tfjs has what that needs.
 *
 * Takes a tfjs-layers `model.json` (with or without a weights manifest), what Keras' `model.to_json()` writes, or the `config.json` of a
 * `.keras` archive, of Keras 2 or 3, as text or parsed; or the bytes of any of these or of the archive itself. Weights are what their initializers give, and under fake
 * mode they have no data at all, but where they are given as `weights`. Works at once, not asynchronously, and leaves tfjs-layers' table of classes as it was.
 *
 * What tfjs-layers lacks or gets wrong is supplied: `Normalization`; global pooling with `keepdims`; training a `BatchNormalization`
 * without scale or centre; the names that Keras 3 has changed. Where the file holds the shapes that Keras computed, tfjs-layers must
 * arrive at the same.
 *
 * @throws RematError `KERAS_…`, naming the layer or the field, the reason and a next step.
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
  // Taken apart by tfjs-layers while it builds the model.
  const file = options.weights === undefined ? undefined : fileLayer(entry);
  const model = buildModel(entry, notes, options.inputShape === undefined);
  if (options.weights !== undefined && file !== undefined) assignWeights(model, file, options.weights);
  if (options.onNote !== undefined) for (const note of differences(notes)) options.onNote(note);
  const { compilation } = topology;
  if (compilation !== undefined) for (const note of compileModel(model, compilation)) options.onNote?.(note);
  return model;
}

/** What is computed otherwise than in Keras. */
function differences(notes: LayerNotes): readonly string[] {
  const all = Array.from(notes);
  const halved = all.flatMap(([, { otherFloat }]) => otherFloat ?? []);
  const penalized = all.filter(([config]) => (config as JsonObject)["activityRegularizer"] != null);
  return [
    ...(halved.length === 0
      ? []
      : [`what is ${[...new Set(halved)].join(" or ")} in Keras is computed in float32, the one float of tfjs`]),
    ...(penalized.length === 0
      ? []
      : [
          `penalties of activity (${penalized.map(([, note]) => label(note)).join(", ")}) are in the gradients, not in the loss that is told`,
        ]),
  ];
}
