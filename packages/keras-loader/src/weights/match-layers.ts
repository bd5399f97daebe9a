import { RematError } from "@remat/trace";
import { absent, type Match, matchInOrder } from "./match.js";
import type { StoredArray } from "./stored-weights.js";
import { layersOf, type WeightedLayer, weightsInOrder } from "./weighted-layer.js";

/**
 * Matches weights with the arrays of a legacy file for each layer: trainable weights first, in Keras' order. If Keras
 * numbered the names differently from the topology, names are ignored, which Keras also does. The layers with weights
 * must then be in the same order.
 */
export function matchLayers(
  model: WeightedLayer,
  stored: ReadonlyMap<string, readonly StoredArray[]>,
): readonly Match[] {
  const layers = (layersOf(model) ?? []).filter(({ layer }) => layer.weights.length > 0);
  const inFile = [...stored].filter(([, arrays]) => arrays.length > 0);
  const byName = layers.every(({ layer }) => stored.has(layer.name));
  if (!byName && layers.length !== inFile.length) {
    const missing = layers.filter(({ layer }) => !stored.has(layer.name)).map(({ layer }) => layer);
    const [first] = missing;
    if (inFile.length < layers.length && first !== undefined) throw absent(first, first.name);
    throw new RematError(
      "KERAS_WEIGHTS_ABSENT",
      `contains weights of ${inFile.length} layers (${shown(inFile.map(([name]) => name))}), ` +
        `and the model has ${layers.length} with weights (${shown(layers.map(({ layer }) => layer.name))}). ` +
        "Use the weights of this model.",
    );
  }
  return layers.flatMap((weighted, i) => {
    const { layer } = weighted;
    const [name, arrays] = byName
      ? [layer.name, stored.get(layer.name) as readonly StoredArray[]]
      : (inFile[i] as (typeof inFile)[number]);
    const trained = new Set(layer.trainableWeights);
    const weights = weightsInOrder(weighted);
    const ordered = [
      ...weights.filter((weight) => trained.has(weight)),
      ...weights.filter((weight) => !trained.has(weight)),
    ];
    return matchInOrder(layer, ordered, arrays, name);
  });
}

function shown(names: readonly string[]): string {
  const [first, second, third] = names;
  return names.length > 4 ? `${first}, ${second}, ${third}, …` : names.join(", ");
}
