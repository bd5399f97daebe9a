import { type Match, matchInOrder } from "./match.js";
import type { StoredArray } from "./stored-weights.js";
import { innerLayers, layersOf, type WeightedLayer } from "./weighted-layer.js";

/**
 * Matches weights with arrays whose names begin with those of the layers: with the models round the layer (`inner/dense/kernel`), or without
 * (`dense/kernel`), as tfjs-layers and its converter write them; within a layer they follow one another in Keras' order.
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
    // Of layers of one name in several models, each in its turn.
    const own = (found ?? []).slice(0, layer.weights.length);
    for (const array of own) left.delete(array);
    return matchInOrder(layer, layer.weights, own, path.join("/"));
  };
  return visit(model, []);
}

/** A model that a wrapper holds. */
function modelsIn(weighted: WeightedLayer): readonly WeightedLayer[] {
  return innerLayers(weighted).flatMap(([, held]) => held.filter((each) => layersOf(each) !== undefined));
}
