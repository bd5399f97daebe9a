import { type Match, matchInOrder } from "./match.js";
import type { StoredArray } from "./stored-weights.js";
import { innerLayers, layersOf, type WeightedLayer } from "./weighted-layer.js";

/**
 * Matches weights with arrays whose names begin with those of the layers, as tfjs-layers and its converter write them.
 * The names of the models around the layer may come first (`inner/dense/kernel`) or be missing (`dense/kernel`). Within
 * a layer, arrays are in Keras' order.
 */
export function matchNames(model: WeightedLayer, arrays: readonly StoredArray[]): readonly Match[] {
  const left = new Set(arrays);
  const visit = (weighted: WeightedLayer, outer: readonly string[]): readonly Match[] => {
    const { layer } = weighted;
    const path = [...outer, layer.name];
    const layers = layersOf(weighted) ?? modelsIn(weighted);
    if (layers.length > 0) return layers.flatMap((each) => visit(each, path));
    if (layer.weights.length === 0) return [];
    const found = path
      .map((_, i) => `${path.slice(i).join("/")}/`)
      .map((prefix) => [...left].filter(({ name }) => name.startsWith(prefix)))
      .find((candidates) => candidates.length > 0);
    // Layers with the same name in several models take their arrays in turn.
    const own = (found ?? []).slice(0, layer.weights.length);
    for (const array of own) left.delete(array);
    return matchInOrder(layer, layer.weights, own, path.join("/"));
  };
  return visit(model, []);
}

/** Returns models inside a wrapper. */
function modelsIn(weighted: WeightedLayer): readonly WeightedLayer[] {
  return innerLayers(weighted).flatMap(([, held]) => held.filter((each) => layersOf(each) !== undefined));
}
