import type { LayersModel, LayerVariable } from "@tensorflow/tfjs-layers";
import { isObject } from "../json.js";
import type { LayerEntry } from "../layer-note.js";
import type { Layer } from "../layers/layer-class.js";

/** What a file says of a layer by which its weights are found: of a model its layers in Keras' order. */
export interface FileLayer {
  readonly name: string;
  readonly className: string;
  readonly layers: readonly FileLayer[];
  /** Those of a wrapper or of a recurrent layer, by field. */
  readonly inner: ReadonlyMap<string, readonly FileLayer[]>;
}

/** A layer that was built, beside what the file says of it. */
export interface WeightedLayer {
  readonly layer: Layer;
  readonly file: FileLayer;
}

const innerFields = ["layer", "cell", "cells"];

/** Keeps of a layer's entry what finds its weights, since tfjs-layers takes entries apart. */
export function fileLayer({ name, className, config }: LayerEntry): FileLayer {
  const entriesOf = (field: string): FileLayer[] =>
    [config[field]].flat().flatMap((entry) => (isObject(entry) ? [fileLayer(entry as unknown as LayerEntry)] : []));
  return {
    name,
    className,
    layers: entriesOf("layers"),
    inner: new Map(innerFields.map((field) => [field, entriesOf(field)])),
  };
}

/** Returns the layers of a model in Keras' order; undefined for a layer that is none. */
export function layersOf({ layer, file }: WeightedLayer): readonly WeightedLayer[] | undefined {
  if (file.layers.length === 0) return undefined;
  const byName = new Map((layer as LayersModel).layers.map((each) => [each.name, each]));
  return file.layers.flatMap((each) => {
    const inner = byName.get(each.name);
    return inner === undefined ? [] : [{ layer: inner, file: each }];
  });
}

/** Layers that hold others. */
interface Wrapping {
  readonly layer?: Layer;
  readonly cell?: Layer;
  readonly cells?: readonly Layer[];
  readonly forwardLayer?: Layer;
  readonly backwardLayer?: Layer;
}

/** Returns the layers that a wrapper or a recurrent layer holds, by the fields in which Keras has them. */
export function innerLayers({ layer, file }: WeightedLayer): readonly (readonly [field: string, WeightedLayer[]])[] {
  const { layer: inner, cell, cells, forwardLayer, backwardLayer } = layer as unknown as Wrapping;
  const fields: readonly (readonly [field: string, layers: readonly (Layer | undefined)[], inFile: string])[] =
    forwardLayer === undefined
      ? [
          ["layer", [inner], "layer"],
          ["cell", [cell], "cell"],
          ["cells", cells ?? [], "cells"],
        ]
      : [
          ["forward_layer", [forwardLayer], "layer"],
          ["backward_layer", [backwardLayer], "layer"],
        ];
  return fields.flatMap(([field, layers, inFile]) => {
    const held = layers.flatMap((each, i) =>
      each === undefined ? [] : [{ layer: each, file: file.inner.get(inFile)?.[i] ?? unsaid(each) }],
    );
    return held.length === 0 ? [] : [[field, held] as const];
  });
}

/** Of a cell that the file does not name. */
function unsaid(layer: Layer): FileLayer {
  return { name: layer.name, className: layer.getClassName(), layers: [], inner: new Map() };
}

/** Returns the weights of a layer that belong to none of the layers in it. */
export function outerWeights(weighted: WeightedLayer): readonly LayerVariable[] {
  const inner = new Set(innerLayers(weighted).flatMap(([, layers]) => layers.flatMap(({ layer }) => layer.weights)));
  return weighted.layer.weights.filter((weight) => !inner.has(weight));
}

/** Returns all weights of a layer, those of each layer in it together. */
export function weightsInOrder(weighted: WeightedLayer): readonly LayerVariable[] {
  const layers = layersOf(weighted);
  if (layers !== undefined) return layers.flatMap(weightsInOrder);
  return [...outerWeights(weighted), ...innerLayers(weighted).flatMap(([, inner]) => inner.flatMap(weightsInOrder))];
}
