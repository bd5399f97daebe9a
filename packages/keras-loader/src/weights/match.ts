import { RematError } from "@remat/trace";
import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { sentenceStart } from "../check-options.js";
import { label, showShapes } from "../layer-note.js";
import type { Layer } from "../layers/layer-class.js";
import type { StoredArray } from "./stored-weights.js";

/** A weight of the model, and the array of the file with its value. */
export interface Match {
  readonly weight: LayerVariable;
  readonly array: StoredArray;
}

/**
 * Matches the weights of a layer with its arrays in the file. Both are in the same order.
 *
 * @throws RematError `KERAS_WEIGHTS_ABSENT`, `KERAS_WEIGHTS_SHAPE`, naming the layer
 */
export function matchInOrder(
  layer: Layer,
  weights: readonly LayerVariable[],
  arrays: readonly StoredArray[],
  path: string,
): readonly Match[] {
  if (weights.length === 0) return [];
  if (arrays.length === 0) throw absent(layer, path);
  if (weights.length !== arrays.length)
    throw new RematError(
      "KERAS_WEIGHTS_ABSENT",
      `${named(layer)} has ${weights.length} weights (${showWeights(weights)}), ` +
        `and the file has ${arrays.length} at ${path} ` +
        `(${arrays.map(({ name, shape }) => `${lastOf(name)} ${showShapes([shape])}`).join(", ")}). ` +
        nextStep,
    );
  return weights.map((weight, i) => {
    const array = arrays[i] as StoredArray;
    if (String(weight.shape) === String(array.shape)) return { weight, array };
    throw new RematError(
      "KERAS_WEIGHTS_SHAPE",
      `${named(layer)} has ${lastOf(weight.originalName)} of shape ${showShapes([weight.shape])}, ` +
        `and the file has ${showShapes([array.shape])} at ${array.name}. ${nextStep}`,
    );
  });
}

/** Returns the error for a layer without arrays in the file. */
export function absent(layer: Layer, path: string): RematError {
  return new RematError(
    "KERAS_WEIGHTS_ABSENT",
    `the file has no weights of ${label(labelled(layer))}: expected ${showWeights(layer.weights)} at ${path}. ${nextStep}`,
  );
}

const nextStep = "Use the weights of this model, or leave them out to get initial values.";

const labelled = (layer: Layer) => ({ name: layer.name, className: layer.getClassName() });
const named = (layer: Layer): string => sentenceStart(label(labelled(layer)));

const lastOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

function showWeights(weights: readonly LayerVariable[]): string {
  return weights.map(({ originalName, shape }) => `${lastOf(originalName)} ${showShapes([shape])}`).join(", ");
}
